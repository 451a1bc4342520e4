import type { Agent } from "@convoke/protocol";
import {
  type AdapterOptions,
  type Framework,
  type FrameworkAnswer,
  type FrameworkRun,
  type HistoryEntry,
  type Piece,
  frameworkAgent,
  toArguments,
} from "./framework-agent.ts";

export type { AdapterOptions } from "./framework-agent.ts";

export interface OpenAiAgentsOptions extends AdapterOptions {
  /** `run` of `@openai/agents`, or the method of your own `Runner`. */
  readonly run: (agent: never, input: never, options: never) => PromiseLike<unknown>;
  /** `RunState` of `@openai/agents`, which restores a run that waits for an approval. */
  readonly RunState: { fromString(agent: never, state: string): PromiseLike<unknown> };
}

/** An agent of `@openai/agents`. */
export interface OpenAiAgent {
  readonly name: string;
  readonly instructions: unknown;
}

interface StreamedRun extends AsyncIterable<unknown> {
  readonly completed: PromiseLike<void>;
  readonly interruptions: readonly ApprovalItem[];
  readonly state: { toString(): string };
}

interface SavedState {
  getInterruptions(): readonly ApprovalItem[];
  approve(item: ApprovalItem): void;
  reject(item: ApprovalItem, options?: { readonly message: string }): void;
}

interface ApprovalItem {
  readonly name?: string;
  readonly arguments?: string;
  readonly rawItem: RawItem;
}

interface RawItem {
  readonly callId?: string;
  readonly id?: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly status?: string;
}

/** The events of its stream that are read here. */
interface StreamEvent {
  readonly type: string;
  readonly name?: string;
  readonly data?: { readonly type: string; readonly delta: string };
  readonly item?: { readonly rawItem: RawItem; readonly output?: unknown };
}

/**
 * Makes an agent of an agent of the OpenAI Agents SDK. Text streams, tool calls are reported through
 * the extension `tool-activity`, and tools with `needsApproval` wait for the caller's approval.
 *
 * @example
 * export default fromOpenAiAgents(agent, { run, RunState, name: "clerk", description: "Refunds." });
 */
export function fromOpenAiAgents(agent: OpenAiAgent, options: OpenAiAgentsOptions): Agent {
  const { run, RunState: runState, ...facts } = options;
  const stream = (input: unknown, signal: AbortSignal): FrameworkRun =>
    piecesOf(() => run(agent as never, input as never, { stream: true, signal } as never), signal);
  const framework: Framework = {
    begin: ({ history, text }, signal) =>
      stream([...history, { role: "user", text } as const].map(toItem), signal),
    async *resume(state, answers, signal) {
      const saved = (await runState.fromString(agent as never, String(state))) as SavedState;
      decide(saved, answers);
      return yield* stream(saved, signal);
    },
  };
  return frameworkAgent(framework, facts);
}

async function* piecesOf(start: () => PromiseLike<unknown>, signal: AbortSignal): FrameworkRun {
  const result = (await start()) as StreamedRun;
  for await (const event of result as AsyncIterable<StreamEvent>) {
    const piece = pieceOf(event);
    if (piece !== undefined) yield piece;
  }
  await result.completed;
  // The stream of an aborted run ends like any other.
  signal.throwIfAborted();
  const { interruptions, state } = result;
  if (interruptions.length === 0) return { kind: "done" };
  const questions = interruptions.map((item) => ({
    kind: "approval" as const,
    id: callIdOf(item.rawItem),
    toolName: item.name ?? "tool",
    arguments: toArguments(item.arguments ?? {}),
  }));
  return { kind: "asks", questions, state: state.toString() };
}

function pieceOf({ type, name, data, item }: StreamEvent): Piece | undefined {
  if (type === "raw_model_stream_event") {
    return data?.type === "output_text_delta" ? data.delta : undefined;
  }
  if (type !== "run_item_stream_event" || item === undefined) return undefined;
  const { rawItem, output } = item;
  const call = { toolCallId: callIdOf(rawItem), toolName: rawItem.name ?? "tool" };
  if (name === "tool_called") return { kind: "tool-call", ...call, input: rawItem.arguments };
  if (name !== "tool_output") return undefined;
  return { kind: "tool-result", ...call, output, isError: rawItem.status === "incomplete" };
}

function callIdOf({ callId, id }: RawItem): string {
  return callId ?? id ?? "";
}

function decide(saved: SavedState, answers: readonly FrameworkAnswer[]): void {
  for (const item of saved.getInterruptions()) {
    const answer = answers.find(({ id }) => id === callIdOf(item.rawItem));
    if (answer?.kind !== "approval") continue;
    const { isApproved, feedback } = answer;
    if (isApproved) saved.approve(item);
    else saved.reject(item, feedback === undefined ? undefined : { message: feedback });
  }
}

function toItem({ role, text }: HistoryEntry): unknown {
  if (role === "user") return { role, content: text };
  return { role, status: "completed", content: [{ type: "output_text", text }] };
}
