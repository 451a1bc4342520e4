import type { FinishReason } from "../../model/model.ts";
import { inputPieces, inputText, words } from "../../models/script/script-pieces.ts";
import type { ScriptError } from "../../models/script/script-step.ts";
import { openAIError } from "./openai-error.ts";
import { type SpokenStep, type Wire, type WireEnd, cannotSay, frame } from "./wire.ts";

const RESPONSE = { id: "resp_scripted", created_at: 0, model: "scripted" };

const INCOMPLETE: Readonly<Partial<Record<FinishReason, string>>> = {
  length: "max_output_tokens",
  "content-filter": "content_filter",
  error: "error",
  other: "other",
};

/** OpenAI's streaming Responses API. */
export class OpenAIResponsesWire implements Wire {
  #output = -1;
  #sequence = -1;
  /** The items that are complete, which the last event repeats. */
  readonly #items: object[] = [];

  *begin(): Iterable<string> {
    yield this.#event("response.created", { response: RESPONSE });
    yield this.#event("response.in_progress", { response: RESPONSE });
  }

  *say(step: SpokenStep): Iterable<string> {
    this.#output += 1;
    switch (step.kind) {
      case "text":
        yield* this.#message({ text: step.text }, (place) =>
          words(step.text).map((delta) =>
            this.#event("response.output_text.delta", { ...place, content_index: 0, delta }),
          ),
        );
        return;
      case "reasoning":
        yield* this.#reasoning(step);
        return;
      case "tool-call":
        yield* this.#call(step);
        return;
      case "source": {
        const { url, title = url } = step;
        const annotation = { type: "url_citation", url, title, start_index: 0, end_index: 0 };
        yield* this.#message({ annotations: [annotation] }, (place) => [
          this.#event("response.output_text.annotation.added", { ...place, annotation }),
        ]);
        return;
      }
      case "file":
        cannotSay("openai-responses", step);
    }
  }

  *#reasoning(step: SpokenStep & { kind: "reasoning" }): Iterable<string> {
    const item = { type: "reasoning", id: `rs_${this.#output}`, summary: [] };
    const summary = { item_id: item.id, output_index: this.#output, summary_index: 0 };
    yield this.#event("response.output_item.added", { output_index: this.#output, item });
    yield this.#event("response.reasoning_summary_part.added", summary);
    for (const delta of words(step.text)) {
      yield this.#event("response.reasoning_summary_text.delta", { ...summary, delta });
    }
    yield this.#event("response.reasoning_summary_part.done", summary);
    yield this.#done({ ...item, encrypted_content: step.signature ?? null });
  }

  *#call(step: SpokenStep & { kind: "tool-call" }): Iterable<string> {
    const { toolCallId: call_id, toolName: name, input } = step;
    const item = { type: "function_call", id: `fc_${this.#output}`, call_id, name };
    const place = { item_id: item.id, output_index: this.#output };
    const added = { ...item, arguments: "", status: "in_progress" };
    yield this.#event("response.output_item.added", { output_index: this.#output, item: added });
    for (const delta of inputPieces(input)) {
      yield this.#event("response.function_call_arguments.delta", { ...place, delta });
    }
    yield this.#done({ ...item, arguments: inputText(input), status: "completed" });
  }

  *end({ reason, usage }: WireEnd): Iterable<string> {
    const { inputTokens, outputTokens, cachedInputTokens = 0, reasoningTokens = 0 } = usage;
    const incomplete = INCOMPLETE[reason];
    yield this.#event(incomplete === undefined ? "response.completed" : "response.incomplete", {
      response: {
        ...RESPONSE,
        output: this.#items,
        incomplete_details: incomplete === undefined ? null : { reason: incomplete },
        usage: {
          input_tokens: inputTokens,
          input_tokens_details: { cached_tokens: cachedInputTokens },
          output_tokens: outputTokens,
          output_tokens_details: { reasoning_tokens: reasoningTokens },
        },
      },
    });
  }

  errorFrame(error: ScriptError): string {
    const { type, ...rest } = openAIError(error);
    return this.#event("error", { ...rest, code: rest.code ?? type });
  }

  errorBody(error: ScriptError): unknown {
    return { error: openAIError(error) };
  }

  /** All frames of one message. */
  *#message(
    { text = "", annotations = [] }: { readonly text?: string; readonly annotations?: object[] },
    content: (place: object) => readonly string[],
  ): Iterable<string> {
    const item = { type: "message", id: `msg_${this.#output}`, role: "assistant" };
    const added = { ...item, status: "in_progress", content: [] };
    yield this.#event("response.output_item.added", { output_index: this.#output, item: added });
    yield* content({ item_id: item.id, output_index: this.#output });
    const whole = [{ type: "output_text", text, annotations }];
    yield this.#done({ ...item, status: "completed", content: whole });
  }

  #done(item: object): string {
    this.#items.push(item);
    return this.#event("response.output_item.done", { output_index: this.#output, item });
  }

  #event(type: string, data: object): string {
    this.#sequence += 1;
    return frame({ type, sequence_number: this.#sequence, ...data }, type);
  }
}
