import type {
  AssistantContent,
  ModelRequest,
  ProviderData,
  ToolResultEntry,
  TranscriptEntry,
} from "../model.ts";
import type { AiSdkAssistantContent, AiSdkMessage, AiSdkToolOutput } from "./ai-sdk-model.ts";
import { type FileRules, userContentOf } from "./user-content.ts";

/** The transcript as the AI SDK wants it. Entries that say nothing are left out: providers refuse them. */
export function promptOf(request: ModelRequest, rules: FileRules): AiSdkMessage[] {
  const { instructions = "", transcript } = request;
  const messages: AiSdkMessage[] =
    instructions.trim() === "" ? [] : [{ role: "system", content: instructions }];
  for (const entry of transcript) {
    const message = messageOf(entry, rules);
    if (message.content.length > 0) messages.push(message);
  }
  return messages;
}

function messageOf(entry: TranscriptEntry, rules: FileRules): AiSdkMessage {
  switch (entry.role) {
    case "user":
      return {
        role: "user",
        content: entry.parts.flatMap((part) => userContentOf(part, rules)),
      };
    case "assistant":
      return { role: "assistant", content: entry.content.flatMap(assistantContentOf) };
    case "tool":
      return {
        role: "tool",
        content: entry.results.map(({ toolCallId, toolName, ...result }) => ({
          type: "tool-result",
          toolCallId,
          toolName,
          output: outputOf(result),
        })),
      };
  }
}

function assistantContentOf(content: AssistantContent): AiSdkAssistantContent[] {
  switch (content.kind) {
    case "text":
      return content.text.trim() === "" ? [] : [{ type: "text", text: content.text }];
    case "reasoning":
      if (content.text === "" && content.provider === undefined) return [];
      return [{ type: "reasoning", text: content.text, ...back(content.provider) }];
    case "tool-call": {
      const { toolCallId, toolName, input, provider } = content;
      return [
        { type: "tool-call", toolCallId, toolName, input: argumentsOf(input), ...back(provider) },
      ];
    }
  }
}

/** What the provider said of it goes back unchanged. */
function back(provider: ProviderData | undefined): { providerOptions?: ProviderData } {
  return provider === undefined ? {} : { providerOptions: provider };
}

/** Providers take objects only. What a model wrote instead is shown to it inside of one. */
function argumentsOf(input: string): unknown {
  if (input.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(input);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Told below.
  }
  return { unreadable: input };
}

function outputOf({
  output,
  isError,
}: Pick<ToolResultEntry, "output" | "isError">): AiSdkToolOutput {
  if (typeof output === "string") return { type: isError ? "error-text" : "text", value: output };
  return { type: isError ? "error-json" : "json", value: output ?? null };
}
