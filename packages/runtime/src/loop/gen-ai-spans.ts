import { type A2APart, type Metadata, type TraceContext } from "@convoke/protocol";
import { type Span, withSpan } from "@convoke/engine/tracing";
import { ModelError } from "../model/model-error.ts";
import type {
  AssistantContent,
  FinishReason,
  Model,
  ModelRequest,
  ModelUsage,
  ToolResultEntry,
  TranscriptEntry,
} from "../model/model.ts";
import type { LoopScope } from "../run/loop-scope.ts";
import type { Tool } from "../tools/tool.ts";
import type { ToolOutcome } from "../run/tape.ts";

// Names and formats follow the GenAI semantic conventions of OpenTelemetry, which are still in
// development: https://opentelemetry.io/docs/specs/semconv/gen-ai/

/** Runs a model call, with all its attempts, in a span `chat`. */
export function withModelSpan<T>(
  scope: LoopScope,
  model: Model,
  work: (span: ModelSpan | undefined) => Promise<T>,
): Promise<T> {
  const { provider, name } = parseModelId(model.id);
  const options = {
    kind: "client",
    parent: scope.trace,
    signal: scope.signal,
    attributes: () => ({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": provider,
      "gen_ai.request.model": name,
      "gen_ai.conversation.id": scope.turn.task.contextId,
      "gen_ai.agent.name": scope.settings.agentName,
    }),
    errorType: modelErrorType,
  } as const;
  return withSpan(`chat ${name}`, options, (span) => work(span && new ModelSpan(span, scope)));
}

/** The span of a model call. */
export class ModelSpan {
  readonly #span: Span;
  readonly #scope: LoopScope;

  constructor(span: Span, scope: LoopScope) {
    this.#span = span;
    this.#scope = scope;
  }

  asked({ instructions, transcript, maxOutputTokens, temperature, output }: ModelRequest): void {
    this.#span.set(() => ({
      "gen_ai.request.max_tokens": maxOutputTokens,
      "gen_ai.request.temperature": temperature,
      "gen_ai.output.type": output === undefined ? "text" : "json",
      ...content(this.#scope, () => ({
        "gen_ai.system_instructions":
          instructions === undefined ? undefined : [{ type: "text", content: instructions }],
        "gen_ai.input.messages": transcript.map(toMessage),
      })),
    }));
  }

  answered(answer: {
    readonly content: readonly AssistantContent[];
    readonly finish: FinishReason;
    readonly usage: ModelUsage;
  }): void {
    const { usage, finish } = answer;
    this.#span.set(() => ({
      "gen_ai.response.finish_reasons": [FINISH_REASONS[finish]],
      "gen_ai.usage.input_tokens": usage.inputTokens,
      "gen_ai.usage.output_tokens": usage.outputTokens,
      "gen_ai.usage.cache_read.input_tokens": usage.cachedInputTokens,
      "gen_ai.usage.reasoning.output_tokens": usage.reasoningTokens,
      ...content(this.#scope, () => ({
        "gen_ai.output.messages": [
          {
            role: "assistant",
            parts: answer.content.map(toContentPart),
            finish_reason: FINISH_REASONS[finish],
          },
        ],
      })),
    }));
  }

  /** One attempt failed. The text of the error is in the log. */
  failed(error: ModelError, attempt: number): void {
    this.#span.addEvent("a2a.model.failed", () => ({
      "error.type": error.kind,
      "a2a.attempt": attempt,
    }));
  }
}

/**
 * Runs one round of a tool call in a span `execute_tool`.
 *
 * @param work receives the trace that requests of the tool continue
 */
export function withToolSpan(
  scope: LoopScope,
  call: { readonly tool: Tool; readonly toolCallId: string; readonly input: Metadata },
  work: (trace: TraceContext) => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const { tool, toolCallId, input } = call;
  const options = {
    parent: scope.trace,
    signal: scope.signal,
    attributes: () => ({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool.name,
      "gen_ai.tool.call.id": toolCallId,
      "gen_ai.tool.type": "function",
      "gen_ai.conversation.id": scope.turn.task.contextId,
      ...content(scope, () => ({ "gen_ai.tool.call.arguments": input })),
    }),
  };
  return withSpan(`execute_tool ${tool.name}`, options, async (span) => {
    const outcome = await work(span?.trace ?? scope.trace);
    if (span !== undefined) endTool(span, scope, outcome);
    return outcome;
  });
}

function endTool(span: Span, scope: LoopScope, outcome: ToolOutcome): void {
  if (outcome.kind === "interrupts") {
    // The call asks its caller something; the answer starts another round.
    span.addEvent("a2a.interrupt", () => ({ "a2a.requests": outcome.interrupts.length }));
    return;
  }
  const isError = outcome.kind === "error";
  const result = isError ? outcome.text : outcome.value;
  span.set(() => content(scope, () => ({ "gen_ai.tool.call.result": result })));
  if (!isError) return;
  span.end(outcome.error instanceof Error ? outcome.error.name : "tool_error");
}

/** Attributes with content as JSON, if spans may contain it. Sensitive answers are masked. */
function content(
  { turn, secrets }: LoopScope,
  values: () => Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  if (turn.tracing?.content !== true) return {};
  const given = Object.entries(values()).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    given.map(([name, value]) => [name, JSON.stringify(secrets.hide(value))]),
  );
}

function modelErrorType(thrown: unknown): string {
  if (thrown instanceof ModelError) return thrown.kind;
  return thrown instanceof Error ? thrown.name : "error";
}

/** The names of the conventions, where they differ from ours. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = { google: "gcp.gemini" };

/** Splits ids such as `openai:gpt-5` and `https://models.example.com/v1#llama`. */
function parseModelId(id: string): { readonly provider: string; readonly name: string } {
  const [, host, model] = /^https?:\/\/([^/]+)[^#]*#(.*)$/.exec(id) ?? [];
  if (host !== undefined && model !== undefined) return { provider: host, name: model };
  const colon = id.indexOf(":");
  if (colon <= 0) return { provider: id, name: id };
  const provider = id.slice(0, colon);
  return { provider: PROVIDER_NAMES[provider] ?? provider, name: id.slice(colon + 1) };
}

const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "stop",
  "tool-calls": "tool_call",
  length: "length",
  "content-filter": "content_filter",
  error: "error",
  other: "other",
};

function toMessage(entry: TranscriptEntry): unknown {
  if (entry.role === "user") return { role: "user", parts: entry.parts.map(toPart) };
  if (entry.role === "tool") return { role: "tool", parts: entry.results.map(toResponse) };
  return { role: "assistant", parts: entry.content.map(toContentPart) };
}

/** Files are left out: only their type is recorded. */
function toPart(part: A2APart): unknown {
  if (part.kind === "text") return { type: "text", content: part.text };
  if (part.kind === "data") return { type: "data", content: part.data };
  return { type: "file", mime_type: part.file.mimeType };
}

function toContentPart(piece: AssistantContent): unknown {
  if (piece.kind !== "tool-call") return { type: piece.kind, content: piece.text };
  const { toolCallId: id, toolName: name, input } = piece;
  return { type: "tool_call", id, name, arguments: input };
}

function toResponse({ toolCallId: id, output }: ToolResultEntry): unknown {
  return { type: "tool_call_response", id, response: output };
}
