import type { A2APart } from "@convoke/protocol";
import type { Model, ModelEvent, ModelRequest } from "../../packages/runtime/src/model/model.ts";

export const WEATHER = {
  name: "weather",
  description: "The weather in a city.",
  inputSchema: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
} as const;

/** A request with one user message. */
export function aRequest(
  said: string | readonly A2APart[] = "How is the weather in Rome?",
  rest: Partial<ModelRequest> = {},
): ModelRequest {
  const parts: readonly A2APart[] =
    typeof said === "string" ? [{ kind: "text", text: said }] : said;
  return { transcript: [{ role: "user", parts }], tools: [WEATHER], ...rest };
}

/** The complete answer of a model. */
export async function answerOf(
  model: Model,
  request: ModelRequest = aRequest(),
): Promise<readonly ModelEvent[]> {
  return collect(model.stream(request, new AbortController().signal));
}

export async function collect<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** The error of a model. */
export async function failureOf(model: Model, request = aRequest()): Promise<unknown> {
  try {
    await answerOf(model, request);
  } catch (error) {
    return error;
  }
  throw new Error("the model answered, and should have failed");
}

/**
 * Events in the common form of all providers: without provider-specific data, and with the chunks
 * of a text, a reasoning or arguments joined.
 */
export function normalised(events: readonly ModelEvent[]): readonly ModelEvent[] {
  const inputs = new Map<string, string>();
  const out: ModelEvent[] = [];
  for (const event of events) {
    const last = out.at(-1);
    if (event.kind === "tool-input") {
      inputs.set(event.toolCallId, (inputs.get(event.toolCallId) ?? "") + event.delta);
    } else if (event.kind === "tool-call") {
      const { toolCallId, toolName, input } = event;
      const delta = inputs.get(toolCallId) ?? "";
      out.push({ kind: "tool-input", toolCallId, toolName, delta });
      out.push({ kind: "tool-call", toolCallId, toolName, input });
    } else if (event.kind === "reasoning-end") {
      out.push({ kind: "reasoning-end" });
    } else if ((event.kind === "text" || event.kind === "reasoning") && last?.kind === event.kind) {
      out[out.length - 1] = { kind: event.kind, text: last.text + event.text };
    } else {
      out.push(event);
    }
  }
  return out;
}
