import type { Agent } from "@convoke/protocol";
import {
  type AdapterOptions,
  type Framework,
  type FrameworkAnswer,
  type FrameworkQuestion,
  type FrameworkRun,
  frameworkAgent,
  toArguments,
} from "./framework-agent.ts";

export type { AdapterOptions } from "./framework-agent.ts";

/** An agent of the AI SDK 7, such as `new ToolLoopAgent({ model, tools })`. */
export interface AiSdkAgent {
  readonly tools: unknown;
  stream(options: never): PromiseLike<AiSdkResult>;
}

/** The result of its `stream`. */
interface AiSdkResult {
  readonly stream: AsyncIterable<unknown>;
  readonly responseMessages: PromiseLike<readonly unknown[]>;
}

/** The parts of its stream that are read here. */
interface StreamPart {
  readonly type: string;
  readonly text: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly output: unknown;
  readonly error: unknown;
  readonly approvalId: string;
  readonly isAutomatic?: boolean;
  readonly toolCall: { readonly toolName: string; readonly input: unknown };
}

/**
 * Makes an agent of an agent of the AI SDK. Text streams, tool calls are reported through the
 * extension `tool-activity`, and tools with `needsApproval` wait for the caller's approval.
 *
 * @example
 * export default fromAiSdk(agent, { name: "clerk", description: "Refunds orders." });
 */
export function fromAiSdk(agent: AiSdkAgent, options: AdapterOptions): Agent {
  const framework: Framework = {
    begin: ({ history, text }, signal) => {
      const messages = history.map(({ role, text: content }) => ({ role, content }));
      return run(agent, [...messages, { role: "user", content: text }], signal);
    },
    resume: (state, answers, signal) => {
      const content = answers.map(toResponse);
      return run(agent, [...(state as unknown[]), { role: "tool", content }], signal);
    },
  };
  return frameworkAgent(framework, options);
}

async function* run(
  agent: AiSdkAgent,
  messages: readonly unknown[],
  abortSignal: AbortSignal,
): FrameworkRun {
  const result = await agent.stream({ messages, abortSignal } as never);
  const questions: FrameworkQuestion[] = [];
  for await (const part of result.stream as AsyncIterable<StreamPart>) {
    const { type, toolCallId, toolName } = part;
    const call = { toolCallId, toolName };
    if (type === "text-delta") yield part.text;
    else if (type === "tool-call") yield { kind: "tool-call", ...call, input: part.input };
    else if (type === "tool-result" || type === "tool-error") {
      const isError = type === "tool-error";
      const output = isError ? "The tool failed." : part.output;
      yield { kind: "tool-result", ...call, output, isError };
    } else if (type === "tool-approval-request" && part.isAutomatic !== true) {
      const { toolName: name, input } = part.toolCall;
      const asked = { id: part.approvalId, toolName: name, arguments: toArguments(input) };
      questions.push({ kind: "approval", ...asked });
    } else if (type === "error") throw part.error;
  }
  // The stream of an aborted call ends like any other.
  abortSignal.throwIfAborted();
  if (questions.length === 0) return { kind: "done" };
  return { kind: "asks", questions, state: [...messages, ...(await result.responseMessages)] };
}

function toResponse(answer: FrameworkAnswer): unknown {
  const isApproved = answer.kind === "approval" && answer.isApproved;
  const reason = answer.kind === "approval" ? answer.feedback : undefined;
  return {
    type: "tool-approval-response",
    approvalId: answer.id,
    approved: isApproved,
    ...(reason !== undefined && { reason }),
  };
}
