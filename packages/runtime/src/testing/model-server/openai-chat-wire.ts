import type { FinishReason } from "../../model/model.ts";
import { inputPieces, words } from "../../models/script/script-pieces.ts";
import type { ScriptError } from "../../models/script/script-step.ts";
import { openAIError } from "./openai-error.ts";
import { type SpokenStep, type Wire, type WireEnd, cannotSay, frame } from "./wire.ts";

const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "stop",
  "tool-calls": "tool_calls",
  length: "length",
  "content-filter": "content_filter",
  error: "error",
  other: "other",
};

/** OpenAI's streaming chat completions API, with reasoning in the format of compatible servers. */
export class OpenAIChatWire implements Wire {
  #calls = -1;

  *begin(): Iterable<string> {
    yield delta({ role: "assistant", content: "" });
  }

  *say(step: SpokenStep): Iterable<string> {
    switch (step.kind) {
      case "text":
        for (const content of words(step.text)) yield delta({ content });
        return;
      case "reasoning":
        for (const reasoning_content of words(step.text)) yield delta({ reasoning_content });
        return;
      case "tool-call":
        yield* this.#call(step);
        return;
      case "source": {
        const { url, title = url } = step;
        const url_citation = { url, title, start_index: 0, end_index: 0 };
        yield delta({ annotations: [{ type: "url_citation", url_citation }] });
        return;
      }
      case "file":
        cannotSay("openai-chat", step);
    }
  }

  *#call(step: SpokenStep & { kind: "tool-call" }): Iterable<string> {
    this.#calls += 1;
    const index = this.#calls;
    const { toolCallId: id, toolName: name } = step;
    yield delta({
      tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }],
    });
    for (const piece of inputPieces(step.input)) {
      yield delta({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }

  *end({ reason, usage }: WireEnd): Iterable<string> {
    const { inputTokens, outputTokens, cachedInputTokens = 0, reasoningTokens = 0 } = usage;
    yield chunk([{ index: 0, delta: {}, finish_reason: FINISH_REASONS[reason] }]);
    yield chunk([], {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
      prompt_tokens_details: { cached_tokens: cachedInputTokens },
      completion_tokens_details: { reasoning_tokens: reasoningTokens },
    });
    yield frame("[DONE]");
  }

  errorFrame(error: ScriptError): string {
    return frame(this.errorBody(error));
  }

  errorBody(error: ScriptError): unknown {
    return { error: openAIError(error) };
  }
}

function delta(content: object): string {
  return chunk([{ index: 0, delta: content, finish_reason: null }]);
}

function chunk(choices: readonly object[], usage?: object): string {
  return frame({
    id: "chatcmpl-scripted",
    object: "chat.completion.chunk",
    created: 0,
    model: "scripted",
    choices,
    ...(usage && { usage }),
  });
}
