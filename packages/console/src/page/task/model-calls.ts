import type { LoggedEvent } from "../server/event-log.ts";
import {
  type Fields,
  type LogEntry,
  fieldsOf,
  isGap,
  listField,
  numberField,
  textField,
  timeOf,
} from "./notes.ts";

/** A request to a model, and what came of it. */
export interface ModelCall {
  readonly seq: number;
  readonly iteration: number;
  readonly attempt: number;
  model: string;
  readonly startedAt?: number | undefined;
  /** From the request to the first chunk of the answer. */
  firstMs?: number | undefined;
  durationMs?: number | undefined;
  inputTokens?: number | undefined;
  outputTokens?: number | undefined;
  cachedInputTokens?: number | undefined;
  reasoningTokens?: number | undefined;
  costUsd?: number | undefined;
  finish?: string | undefined;
  said: string;
  thoughts: string;
  tools: readonly { readonly name: string; readonly input: string }[];
  /** Why it failed. */
  problem?: string | undefined;
  /** How long the next attempt waited. */
  waitMs?: number | undefined;
  nextModel?: string | undefined;
  /** How many entries were left out of the request. */
  trimmed: number;
  outcome: "running" | "answered" | "failed";
}

export function findModelCalls(entries: Iterable<LogEntry>): readonly ModelCall[] {
  const calls: ModelCall[] = [];
  let trimmed = 0;
  for (const entry of entries) {
    if (isGap(entry)) continue;
    const fields = fieldsOf(entry.event);
    const open = calls.at(-1)?.outcome === "running" ? calls.at(-1) : undefined;
    switch (entry.event.kind) {
      case "internal:trimmed":
        trimmed = numberField(fields, "entries") ?? 0;
        break;
      case "internal:llm-call":
        calls.push(beginCall(entry, fields, trimmed));
        trimmed = 0;
        break;
      case "artifact-update":
      case "internal:thought":
        if (open) open.firstMs ??= sinceStart(open, entry);
        break;
      case "internal:llm-result":
        if (open) endCall(open, entry, fields);
        break;
      case "internal:llm-retry":
        if (open) failCall(open, entry, fields);
        break;
      case "internal:attempt":
        if (open) Object.assign(open, { outcome: "failed", problem: "the process ended" });
        break;
      default:
    }
  }
  return calls;
}

function beginCall(entry: LoggedEvent, fields: Fields, trimmed: number): ModelCall {
  return {
    seq: entry.seq,
    iteration: numberField(fields, "iteration") ?? 1,
    attempt: numberField(fields, "attempt") ?? 1,
    model: textField(fields, "model") ?? "unknown model",
    startedAt: timeOf(entry),
    said: "",
    thoughts: "",
    tools: [],
    trimmed,
    outcome: "running",
  };
}

function sinceStart({ startedAt }: ModelCall, entry: LoggedEvent): number | undefined {
  const now = timeOf(entry);
  return startedAt === undefined || now === undefined ? undefined : Math.max(0, now - startedAt);
}

function endCall(call: ModelCall, entry: LoggedEvent, fields: Fields): void {
  const usage = fieldsOf(fields["usage"]);
  const content = listField(fields, "content");
  const textsOf = (kind: string): string =>
    content
      .filter((part) => part["kind"] === kind)
      .map((part) => textField(part, "text") ?? "")
      .join("");
  Object.assign(call, {
    outcome: "answered",
    model: textField(fields, "model") ?? call.model,
    durationMs: numberField(fields, "durationMs") ?? sinceStart(call, entry),
    firstMs: numberField(fields, "firstMs") ?? call.firstMs,
    inputTokens: numberField(usage, "inputTokens"),
    outputTokens: numberField(usage, "outputTokens"),
    cachedInputTokens: numberField(usage, "cachedInputTokens"),
    reasoningTokens: numberField(usage, "reasoningTokens"),
    costUsd: numberField(fields, "costUsd"),
    finish: textField(fields, "finish"),
    said: textsOf("text"),
    thoughts: textsOf("reasoning"),
    tools: content
      .filter((part) => part["kind"] === "tool-call")
      .map((part) => ({
        name: textField(part, "toolName") ?? "tool",
        input: textField(part, "input") ?? "",
      })),
  } satisfies Partial<ModelCall>);
}

function failCall(call: ModelCall, entry: LoggedEvent, fields: Fields): void {
  Object.assign(call, {
    outcome: "failed",
    durationMs: sinceStart(call, entry),
    problem: textField(fields, "problem") ?? "unknown problem",
    waitMs: numberField(fields, "waitMs"),
    nextModel: textField(fields, "nextModel"),
  } satisfies Partial<ModelCall>);
}

/** A number of all calls together; `undefined` if no call has it. */
export function total(
  calls: readonly ModelCall[],
  name: "inputTokens" | "outputTokens" | "cachedInputTokens" | "reasoningTokens" | "costUsd",
): number | undefined {
  const known = calls.flatMap((call) => call[name] ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, one) => sum + one, 0);
}
