import type { ContentBlock, PromptCapabilities } from "@agentclientprotocol/sdk";
import type { A2APart, FilePart } from "@convoke/protocol";
import type { ProgramPrompt } from "../program/program-event.ts";

interface ContentOptions {
  readonly capabilities: PromptCapabilities;
  /** Whether the program may take the text for one of its commands. */
  readonly slashCommands: boolean;
}

const INTERRUPTED =
  "You were interrupted while you worked on the following request. Continue where you stopped, and do not repeat what is already done.\n\n";

/** The prompt for a program that speaks ACP. */
export function promptContent(
  { parts, history, isContinued }: ProgramPrompt,
  options: ContentOptions,
): ContentBlock[] {
  const before = [
    ...(history.length === 0 ? [] : [earlierMessages(history)]),
    ...(isContinued ? [INTERRUPTED] : []),
  ].map(textBlock);
  const blocks = parts.map((part) => partContent(part, options.capabilities));
  // Programs join all texts before they look for a command.
  const text = blocks.map((block) => (block.type === "text" ? block.text : "")).join("");
  const isCommand = /^\s*[/$]/.test(text);
  const isAlone = before.length === 0 && isCommand && !options.slashCommands;
  return [...before, ...(isAlone ? [textBlock("The message is:\n")] : []), ...blocks];
}

function earlierMessages(history: ProgramPrompt["history"]): string {
  const lines = history.map(({ role, text }) => `${role}: ${text}`);
  return `Earlier messages of this conversation:\n${lines.join("\n")}\n\nThe message to answer now:\n`;
}

/**
 * A part of a message of a caller. The program would open the URI of a resource, so a URI is only
 * text: the caller must not choose which files of this machine are read.
 */
function partContent(part: A2APart, capabilities: PromptCapabilities): ContentBlock {
  switch (part.kind) {
    case "text":
      return textBlock(part.text);
    case "data":
      return textBlock(`\n${JSON.stringify(part.data, undefined, 2)}\n`);
    case "file":
      return fileContent(part, capabilities);
    default:
      return part satisfies never;
  }
}

function fileContent({ file }: FilePart, capabilities: PromptCapabilities): ContentBlock {
  const { name = "file", mimeType = "application/octet-stream", bytes, uri } = file;
  if (bytes === undefined) return textBlock(`\n${name}: ${uri ?? "(no content)"}\n`);
  if (mimeType.startsWith("image/") && capabilities.image === true) {
    return { type: "image", data: bytes, mimeType };
  }
  if (mimeType.startsWith("audio/") && capabilities.audio === true) {
    return { type: "audio", data: bytes, mimeType };
  }
  const text = /^text\/|json|xml/.test(mimeType) ? Buffer.from(bytes, "base64").toString() : "";
  if (capabilities.embeddedContext !== true) return textBlock(`\n${name} (${mimeType}):\n${text}`);
  const address = { uri: `attachment:${encodeURIComponent(name)}`, mimeType };
  const resource = text === "" ? { ...address, blob: bytes } : { ...address, text };
  return { type: "resource", resource };
}

function textBlock(text: string): ContentBlock {
  return { type: "text", text };
}
