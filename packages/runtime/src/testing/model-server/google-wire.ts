import type { FinishReason } from "../../model/model.ts";
import { inputText, words } from "../../models/script/script-pieces.ts";
import type { ScriptError } from "../../models/script/script-step.ts";
import { type SpokenStep, type Wire, type WireEnd, frame } from "./wire.ts";

const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "STOP",
  "tool-calls": "STOP",
  length: "MAX_TOKENS",
  "content-filter": "SAFETY",
  error: "MALFORMED_FUNCTION_CALL",
  other: "OTHER",
};

const STATUSES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  503: "UNAVAILABLE",
};

/** Google's streaming generateContent API. It sends tool arguments as a whole. */
export class GoogleWire implements Wire {
  *begin(): Iterable<string> {
    // The format has no opening frame: its first chunk already has content.
  }

  *say(step: SpokenStep): Iterable<string> {
    switch (step.kind) {
      case "text":
        for (const text of words(step.text)) yield part({ text });
        return;
      case "reasoning": {
        const pieces = words(step.text);
        for (const [index, text] of pieces.entries()) {
          const isLast = index === pieces.length - 1;
          yield part({ text, thought: true, ...(isLast && signed(step.signature)) });
        }
        return;
      }
      case "tool-call": {
        const { toolCallId: id, toolName: name, signature } = step;
        const args: unknown = JSON.parse(inputText(step.input));
        yield part({ functionCall: { id, name, args }, ...signed(signature) });
        return;
      }
      case "source": {
        const { url: uri, title } = step;
        const groundingChunks = [{ web: { uri, ...(title !== undefined && { title }) } }];
        yield frame({ candidates: [{ index: 0, groundingMetadata: { groundingChunks } }] });
        return;
      }
      case "file":
        yield part({ inlineData: { mimeType: step.mediaType, data: step.bytes } });
    }
  }

  *end({ reason, usage }: WireEnd): Iterable<string> {
    const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens = 0 } = usage;
    yield frame({
      candidates: [{ index: 0, finishReason: FINISH_REASONS[reason] }],
      usageMetadata: {
        promptTokenCount: inputTokens,
        candidatesTokenCount: outputTokens - reasoningTokens,
        totalTokenCount: inputTokens + outputTokens,
        ...(cachedInputTokens !== undefined && { cachedContentTokenCount: cachedInputTokens }),
        ...(reasoningTokens > 0 && { thoughtsTokenCount: reasoningTokens }),
      },
    });
  }

  errorFrame(error: ScriptError): string {
    return frame(this.errorBody(error));
  }

  errorBody({ status, code, message, retryAfterSeconds }: ScriptError): unknown {
    const tooLong =
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
    const isTooLong = code?.includes("context_length") === true;
    const type = "type.googleapis.com/google.rpc.RetryInfo";
    return {
      error: {
        code: status,
        message: message ?? (isTooLong ? tooLong : `scripted ${status}`),
        status: isTooLong ? "INVALID_ARGUMENT" : (code ?? STATUSES[status] ?? "INTERNAL"),
        ...(retryAfterSeconds !== undefined && {
          details: [{ "@type": type, retryDelay: `${retryAfterSeconds}s` }],
        }),
      },
    };
  }
}

function part(content: object): string {
  return frame({ candidates: [{ index: 0, content: { role: "model", parts: [content] } }] });
}

function signed(thoughtSignature: string | undefined): { thoughtSignature?: string } {
  return thoughtSignature === undefined ? {} : { thoughtSignature };
}
