import type { FinishReason } from "../../model/model.ts";
import { inputPieces, words } from "../../models/script/script-pieces.ts";
import type { ScriptError } from "../../models/script/script-step.ts";
import { type SpokenStep, type Wire, type WireEnd, cannotSay, frame } from "./wire.ts";

const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "end_turn",
  "tool-calls": "tool_use",
  length: "max_tokens",
  "content-filter": "refusal",
  error: "error",
  other: "other",
};

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  529: "overloaded_error",
};

/** Anthropic's streaming Messages API. */
export class AnthropicWire implements Wire {
  #index = -1;

  *begin({ usage }: WireEnd): Iterable<string> {
    const { inputTokens, cachedInputTokens = 0 } = usage;
    yield event({
      type: "message_start",
      message: {
        id: "msg_scripted",
        type: "message",
        role: "assistant",
        model: "scripted",
        content: [],
        stop_reason: null,
        usage: {
          input_tokens: inputTokens - cachedInputTokens,
          cache_read_input_tokens: cachedInputTokens,
          output_tokens: 1,
        },
      },
    });
    yield event({ type: "ping" });
  }

  *say(step: SpokenStep): Iterable<string> {
    switch (step.kind) {
      case "text":
        yield this.#start({ type: "text", text: "" });
        for (const text of words(step.text)) yield this.#delta({ type: "text_delta", text });
        break;
      case "reasoning":
        yield this.#start({ type: "thinking", thinking: "" });
        for (const thinking of words(step.text)) {
          yield this.#delta({ type: "thinking_delta", thinking });
        }
        yield this.#delta({ type: "signature_delta", signature: step.signature ?? "unsigned" });
        break;
      case "tool-call": {
        const { toolCallId: id, toolName: name } = step;
        yield this.#start({ type: "tool_use", id, name, input: {} });
        for (const partial_json of inputPieces(step.input)) {
          yield this.#delta({ type: "input_json_delta", partial_json });
        }
        break;
      }
      case "source": {
        const { url, title = null } = step;
        yield this.#start({ type: "text", text: "" });
        const type = "web_search_result_location";
        const citation = { type, url, title, cited_text: "", encrypted_index: "" };
        yield this.#delta({ type: "citations_delta", citation });
        break;
      }
      case "file":
        return cannotSay("anthropic", step);
    }
    yield event({ type: "content_block_stop", index: this.#index });
  }

  *end({ reason, usage }: WireEnd): Iterable<string> {
    const { outputTokens, reasoningTokens } = usage;
    yield event({
      type: "message_delta",
      delta: { stop_reason: STOP_REASONS[reason], stop_sequence: null },
      usage: {
        output_tokens: outputTokens,
        ...(reasoningTokens !== undefined && {
          output_tokens_details: { thinking_tokens: reasoningTokens },
        }),
      },
    });
    yield event({ type: "message_stop" });
  }

  errorFrame(error: ScriptError): string {
    return event(this.errorBody(error));
  }

  errorBody({ status, code, message }: ScriptError): Event {
    const isTooLong = code?.includes("context_length") === true;
    const tooLong = "prompt is too long: 250000 tokens > 200000 maximum";
    return {
      type: "error",
      error: {
        type: isTooLong ? "invalid_request_error" : (code ?? ERROR_TYPES[status] ?? "api_error"),
        message: message ?? (isTooLong ? tooLong : `scripted ${status}`),
      },
    };
  }

  #start(content_block: object): string {
    this.#index += 1;
    return event({ type: "content_block_start", index: this.#index, content_block });
  }

  #delta(delta: object): string {
    return event({ type: "content_block_delta", index: this.#index, delta });
  }
}

type Event = { readonly type: string } & Readonly<Record<string, unknown>>;

function event(data: Event): string {
  return frame(data, data.type);
}
