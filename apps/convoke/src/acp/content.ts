import type { ContentBlock } from "@agentclientprotocol/sdk";
import { type A2APart, type FilePart, textPart } from "@convoke/protocol";
import { basename } from "node:path";

/** The parts of a message for what a user has typed, attached or referred to. */
export function toParts(blocks: readonly ContentBlock[]): readonly A2APart[] {
  return blocks.map((block): A2APart => {
    switch (block.type) {
      case "text":
        return textPart(block.text);
      case "image":
      case "audio":
        return { kind: "file", file: { mimeType: block.mimeType, bytes: block.data } };
      case "resource_link":
        // A link as text: the agent has tools to read it, and a model cannot open it by itself.
        return textPart(`[@${block.name}](${block.uri})`);
      case "resource": {
        const { resource } = block;
        if ("text" in resource) return textPart(quoted(resource.uri, resource.text));
        const { blob: bytes, mimeType, uri } = resource;
        const file = { name: basename(uri), bytes, ...(mimeType && { mimeType }) };
        return { kind: "file", file };
      }
      default:
        return block satisfies never;
    }
  });
}

/** The content of a resource, with its address, so that the agent can tell it from the user's words. */
function quoted(uri: string, text: string): string {
  return `\n<context ref=${JSON.stringify(uri)}>\n${text}\n</context>\n`;
}

/** A part as an editor shows it. */
export function toContent(part: A2APart): ContentBlock {
  switch (part.kind) {
    case "text":
      return { type: "text", text: part.text };
    case "data":
      return { type: "text", text: jsonBlock(part.data) };
    case "file":
      return fileContent(part);
    default:
      return part satisfies never;
  }
}

export function jsonBlock(data: unknown): string {
  return `\n${codeBlock(JSON.stringify(data, undefined, 2), "json")}\n`;
}

/** A fenced block. The fence is longer than any in the text. */
export function codeBlock(text: string, language = ""): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`;
}

/** Editors receive the whole content with every update, so a long output is shown from its end. */
const MAX_SHOWN = 16_384;

export function shortened(text: string): string {
  return text.length <= MAX_SHOWN ? text : `…${text.slice(-MAX_SHOWN)}`;
}

function fileContent({ file }: FilePart): ContentBlock {
  const { name = "file", mimeType = "application/octet-stream", bytes = "", uri } = file;
  if (uri !== undefined) return { type: "resource_link", name, uri, mimeType };
  if (mimeType.startsWith("image/")) return { type: "image", data: bytes, mimeType };
  if (mimeType.startsWith("audio/")) return { type: "audio", data: bytes, mimeType };
  const resource = { uri: `attachment:${encodeURIComponent(name)}`, mimeType, blob: bytes };
  return { type: "resource", resource };
}
