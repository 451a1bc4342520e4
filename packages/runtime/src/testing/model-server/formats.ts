import { AnthropicWire } from "./anthropic-wire.ts";
import { GoogleWire } from "./google-wire.ts";
import { OpenAIChatWire } from "./openai-chat-wire.ts";
import { OpenAIResponsesWire } from "./openai-responses-wire.ts";
import type { Wire, WireFormat } from "./wire.ts";

const PATHS: readonly (readonly [RegExp, WireFormat])[] = [
  [/\/messages$/, "anthropic"],
  [/:streamGenerateContent$/, "google"],
  [/\/chat\/completions$/, "openai-chat"],
  [/\/responses$/, "openai-responses"],
];

/** The wire format of a request, determined by its path. */
export function formatOf(path: string): WireFormat | undefined {
  const [place = ""] = path.split("?");
  return PATHS.find(([pattern]) => pattern.test(place))?.[1];
}

/** Creates the writer for one answer in a format. */
export function wireOf(format: WireFormat): Wire {
  switch (format) {
    case "anthropic":
      return new AnthropicWire();
    case "google":
      return new GoogleWire();
    case "openai-chat":
      return new OpenAIChatWire();
    case "openai-responses":
      return new OpenAIResponsesWire();
  }
}
