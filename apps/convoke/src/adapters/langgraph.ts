import type { Agent, Metadata } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import {
  type AdapterOptions,
  type Framework,
  type FrameworkAnswer,
  type FrameworkQuestion,
  type FrameworkRun,
  type Piece,
  frameworkAgent,
  toArguments,
} from "./framework-agent.ts";

export type { AdapterOptions } from "./framework-agent.ts";

export interface LangGraphOptions extends AdapterOptions {
  /** `Command` of `@langchain/langgraph`, which resumes a graph that has called `interrupt`. */
  readonly Command: new (options: { resume: never }) => unknown;
}

/** A compiled graph with a `messages` channel. */
export interface CompiledGraph {
  readonly checkpointer?: unknown;
  stream(input: never, options: never): PromiseLike<AsyncIterable<unknown>>;
}

/** A message of LangChain, as far as it is read here. */
interface GraphMessage {
  readonly type: string;
  readonly content: unknown;
  readonly tool_calls?: readonly {
    readonly id?: string;
    readonly name: string;
    readonly args: unknown;
  }[];
  readonly tool_call_id?: string;
  readonly name?: string;
  readonly status?: string;
}

interface GraphInterrupt {
  readonly id: string;
  readonly value: unknown;
}

/** What the state of a waiting graph is recorded as; the rest is with its checkpointer. */
interface WaitingGraph {
  readonly threadId: string;
  readonly interrupts: readonly GraphInterrupt[];
}

/**
 * Makes an agent of a compiled graph whose state has `messages`. The text of its models streams,
 * tool calls are reported through the extension `tool-activity`, and `interrupt` asks the caller. A
 * graph with a checkpointer has one thread per conversation; one without gets the whole conversation
 * with each message.
 *
 * @example
 * export default fromLangGraph(graph, { Command, name: "clerk", description: "Refunds orders." });
 */
export function fromLangGraph(graph: CompiledGraph, options: LangGraphOptions): Agent {
  const { Command, ...facts } = options;
  const framework: Framework = {
    begin: ({ history, text, threadId }, signal) => {
      const hasThread = (graph.checkpointer ?? false) !== false;
      const before = hasThread ? [] : history.map((one) => ({ role: one.role, content: one.text }));
      return run(
        graph,
        { messages: [...before, { role: "user", content: text }] },
        threadId,
        signal,
      );
    },
    resume: (state, answers, signal) => {
      const { threadId, interrupts } = state as WaitingGraph;
      const resume = Object.fromEntries(
        interrupts.map((interrupt) => [interrupt.id, valueFor(interrupt, answers)]),
      );
      return run(graph, new Command({ resume: resume as never }), threadId, signal);
    },
  };
  return frameworkAgent(framework, facts);
}

async function* run(
  graph: CompiledGraph,
  input: unknown,
  threadId: string,
  signal: AbortSignal,
): FrameworkRun {
  const options = {
    configurable: { thread_id: threadId },
    streamMode: ["messages", "updates"],
    signal,
  };
  const interrupts: GraphInterrupt[] = [];
  for await (const item of await graph.stream(input as never, options as never)) {
    const [mode, chunk] = item as readonly [string, unknown];
    if (mode === "messages") {
      const text = streamedText(chunk as readonly [GraphMessage]);
      if (text !== "") yield text;
    } else yield* activityIn(chunk, interrupts);
  }
  signal.throwIfAborted();
  if (interrupts.length === 0) return { kind: "done" };
  const state: WaitingGraph = { threadId, interrupts };
  return { kind: "asks", questions: interrupts.flatMap(questionsOf), state };
}

function streamedText([{ type, content }]: readonly [GraphMessage]): string {
  if (type !== "ai") return "";
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return (content as readonly { readonly text?: unknown }[])
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join("");
}

/** The tool calls and results in an update, by the nodes of the graph; adds its interrupts. */
function* activityIn(update: unknown, interrupts: GraphInterrupt[]): Generator<Piece, void> {
  if (!isObject(update)) return;
  for (const [node, change] of Object.entries(update)) {
    if (node === "__interrupt__") interrupts.push(...(change as GraphInterrupt[]).map(plain));
    else if (isObject(change)) {
      const messages = [change["messages"] ?? []].flat() as unknown as readonly GraphMessage[];
      for (const message of messages) yield* toolPieces(message);
    }
  }
}

function plain({ id, value }: GraphInterrupt): GraphInterrupt {
  return { id, value };
}

function* toolPieces(message: GraphMessage): Generator<Piece, void> {
  for (const { id: toolCallId = "", name: toolName, args: input } of message.tool_calls ?? []) {
    yield { kind: "tool-call", toolCallId, toolName, input };
  }
  if (message.type !== "tool") return;
  const { tool_call_id: toolCallId = "", name: toolName = "tool", content, status } = message;
  yield { kind: "tool-result", toolCallId, toolName, output: content, isError: status === "error" };
}

interface ActionRequest {
  readonly name: string;
  readonly args: Metadata;
}

/** The calls that an interrupt of LangChain's human-in-the-loop middleware wants approved. */
function actionsOf({ value }: GraphInterrupt): readonly ActionRequest[] {
  const actions = isObject(value) ? value["actionRequests"] : undefined;
  return Array.isArray(actions) ? (actions as readonly ActionRequest[]) : [];
}

function questionsOf(interrupt: GraphInterrupt): readonly FrameworkQuestion[] {
  const { id, value } = interrupt;
  const actions = actionsOf(interrupt);
  if (actions.length === 0) return [{ kind: "input", id, prompt: promptOf(value) }];
  return actions.map(({ name, args }, place) => ({
    kind: "approval",
    id: `${id}:${place}`,
    toolName: name,
    arguments: toArguments(args),
  }));
}

function promptOf(value: unknown): string {
  if (typeof value === "string") return value;
  const question = isObject(value) ? (value["question"] ?? value["message"]) : undefined;
  return typeof question === "string" ? question : JSON.stringify(value);
}

/** What `interrupt` returns: the text of the answer, or the decisions on all its calls. */
function valueFor(interrupt: GraphInterrupt, answers: readonly FrameworkAnswer[]): unknown {
  const { id } = interrupt;
  const own = answers.filter((one) => one.id === id || one.id.startsWith(`${id}:`));
  const [first] = own;
  if (first?.kind === "input") return first.text;
  const decisions = own.map((one) => {
    if (one.kind === "approval" && one.isApproved) return { type: "approve" };
    const message = one.kind === "approval" ? one.feedback : undefined;
    return { type: "reject", ...(message !== undefined && { message }) };
  });
  return { decisions };
}
