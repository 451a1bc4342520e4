import type { Agent } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import {
  type AdapterOptions,
  type Framework,
  type FrameworkAnswer,
  type FrameworkEnd,
  type FrameworkQuestion,
  type FrameworkRun,
  type Piece,
  frameworkAgent,
  toArguments,
} from "./framework-agent.ts";

export type { AdapterOptions } from "./framework-agent.ts";

/** An agent of Mastra. It needs the storage of its `Mastra` instance to wait for an answer. */
export interface MastraAgent {
  readonly id: string;
  hasOwnMemory(): boolean;
  stream(messages: never, options: never): PromiseLike<unknown>;
  resumeStream(resumeData: unknown, options: never): PromiseLike<unknown>;
  approveToolCall(options: never): PromiseLike<unknown>;
  declineToolCall(options: never): PromiseLike<unknown>;
}

interface MastraOutput {
  readonly runId: string;
  readonly fullStream: AsyncIterable<unknown>;
}

/** The chunks of its stream that are read here. */
interface Chunk {
  readonly type: string;
  readonly payload: {
    readonly text: string;
    readonly toolCallId: string;
    readonly toolName: string;
    readonly args: unknown;
    readonly result: unknown;
    readonly isError?: boolean;
    readonly error: unknown;
    readonly suspendPayload: unknown;
  };
}

/** What the state of a waiting run is recorded as; the rest is in Mastra's storage. */
interface WaitingRun {
  readonly runId: string;
}

/**
 * Makes an agent of a Mastra agent. Text streams, tool calls are reported through the extension
 * `tool-activity`, tools with `requireApproval` wait for the caller's approval, and `suspend` asks
 * the caller: its answer is `resumeData.answer`. An agent with memory has one thread per
 * conversation; one without gets the whole conversation with each message.
 *
 * @example
 * export default fromMastra(mastra.getAgent("clerk"), { name: "clerk", description: "Refunds." });
 */
export function fromMastra(agent: MastraAgent, options: AdapterOptions): Agent {
  const framework: Framework = {
    begin: ({ history, text, threadId, owner }, abortSignal) => {
      const hasMemory = agent.hasOwnMemory();
      const before = hasMemory ? [] : history.map((one) => ({ role: one.role, content: one.text }));
      const messages = [...before, { role: "user", content: text }];
      const memory = { thread: threadId, resource: owner };
      const settings = { abortSignal, ...(hasMemory && { memory }) };
      return run(() => agent.stream(messages as never, settings as never), abortSignal);
    },
    resume: (state, answers, abortSignal) => {
      const { runId } = state as WaitingRun;
      return resume(agent, { runId, answers }, abortSignal);
    },
  };
  return frameworkAgent(framework, options);
}

async function* run(start: () => PromiseLike<unknown>, signal: AbortSignal): FrameworkRun {
  const { runId, fullStream } = (await start()) as MastraOutput;
  const questions: FrameworkQuestion[] = [];
  for await (const chunk of fullStream as AsyncIterable<Chunk>) {
    const { type, payload } = chunk;
    const question = questionOf(chunk);
    if (question !== undefined) questions.push(question);
    else if (type === "error") throw payload.error;
    else {
      const piece = pieceOf(chunk);
      if (piece !== undefined) yield piece;
    }
  }
  signal.throwIfAborted();
  if (questions.length === 0) return { kind: "done" };
  return { kind: "asks", questions, state: { runId } satisfies WaitingRun };
}

/** Answers the calls that wait. Each answer continues the run, up to the next one. */
async function* resume(
  agent: MastraAgent,
  { runId, answers }: WaitingRun & { readonly answers: readonly FrameworkAnswer[] },
  abortSignal: AbortSignal,
): FrameworkRun {
  let end: FrameworkEnd | undefined;
  for (const answer of answers) {
    const settings = { runId, toolCallId: answer.id, abortSignal };
    end = yield* run(() => continued(agent, answer, settings), abortSignal);
  }
  return end ?? { kind: "done" };
}

function continued(
  agent: MastraAgent,
  answer: FrameworkAnswer,
  settings: object,
): PromiseLike<unknown> {
  if (answer.kind === "input")
    return agent.resumeStream({ answer: answer.text }, settings as never);
  if (answer.isApproved) return agent.approveToolCall(settings as never);
  return agent.declineToolCall({ ...settings, reason: answer.feedback } as never);
}

function questionOf({ type, payload }: Chunk): FrameworkQuestion | undefined {
  const { toolCallId: id, toolName, args, suspendPayload } = payload;
  if (type === "tool-call-approval") {
    return { kind: "approval", id, toolName, arguments: toArguments(args) };
  }
  if (type !== "tool-call-suspended") return undefined;
  const question = isObject(suspendPayload)
    ? (suspendPayload["question"] ?? suspendPayload["message"])
    : suspendPayload;
  const prompt = typeof question === "string" ? question : JSON.stringify(suspendPayload);
  return { kind: "input", id, prompt };
}

function pieceOf({ type, payload }: Chunk): Piece | undefined {
  const { toolCallId, toolName, args, result, isError = false } = payload;
  const call = { toolCallId, toolName };
  switch (type) {
    case "text-delta":
      return payload.text;
    case "tool-call":
      return { kind: "tool-call", ...call, input: args };
    case "tool-result":
      return { kind: "tool-result", ...call, output: result, isError };
    case "tool-error":
      return { kind: "tool-result", ...call, output: "The tool failed.", isError: true };
    default:
      return undefined;
  }
}
