import type { CallToolResult, ContentBlock, EmbeddedResource } from "@modelcontextprotocol/client";
import type { A2APart, FilePart } from "@convoke/protocol";
import { isDeepStrictEqual } from "node:util";
import { boundedOutput } from "../tools/tool-output.ts";
import { type ToolContext, type ToolEvent, fileArtifactId } from "../tools/tool.ts";

type Resource = EmbeddedResource["resource"];

/**
 * Converts the result of a call to tool events: files, sources and the result. Text beyond `limit`
 * characters is cut, with a note.
 */
export function* resultEvents(
  { content, structuredContent, isError }: CallToolResult,
  { toolCallId }: Pick<ToolContext, "toolCallId">,
  limit: number,
): Generator<ToolEvent, ToolEvent> {
  const texts: string[] = [];
  let room = limit;
  let files = 0;
  for (const block of content) {
    const source = sourceOf(block);
    if (source !== undefined) yield source;
    const file = fileOf(block);
    if (file === undefined) {
      texts.push(textOf(block));
      continue;
    }
    const { mimeType = "application/octet-stream", bytes = "" } = file.file;
    room -= bytes.length;
    if (room < 0) {
      texts.push(`[a file of type ${mimeType} was left out: the result is longer than ${limit}]`);
      continue;
    }
    files += 1;
    yield { kind: "tool:file", file: file.file };
    const artifactId = fileArtifactId(toolCallId, files);
    texts.push(`[a file of type ${mimeType} was given to the user as artifact ${artifactId}]`);
  }
  const text = texts.join("\n");
  if (isError === true) {
    const told = text.trim() === "" ? "it does not say why" : text;
    return { kind: "tool:error", text: String(boundedOutput(told, limit)) };
  }
  const value = structuredContent === undefined ? text : structured(text, structuredContent);
  return { kind: "tool:result", value: boundedOutput(value, limit) };
}

/** Converts a content block to a message part. */
export function contentPart(block: ContentBlock): A2APart {
  return fileOf(block) ?? { kind: "text", text: textOf(block) };
}

/** Converts a resource to a message part. */
export function resourcePart(resource: Resource): A2APart {
  if ("text" in resource) return { kind: "text", text: resource.text };
  const { uri, mimeType, blob } = resource;
  const file = { name: uri, bytes: blob, ...(mimeType !== undefined && { mimeType }) };
  return { kind: "file", file };
}

/**
 * Servers repeat structured content as text for clients that do not support it. If both are the
 * same, only the structured content is kept.
 */
function structured(text: string, value: unknown): unknown {
  if (text.trim() === "") return value;
  try {
    if (isDeepStrictEqual(JSON.parse(text), value)) return value;
  } catch {
    // The text is not JSON, so it says something of its own.
  }
  return { text, structuredContent: value };
}

function fileOf(block: ContentBlock): FilePart | undefined {
  if (block.type === "image" || block.type === "audio") {
    return { kind: "file", file: { mimeType: block.mimeType, bytes: block.data } };
  }
  if (block.type !== "resource") return undefined;
  const part = resourcePart(block.resource);
  return part.kind === "file" ? part : undefined;
}

function textOf(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "resource_link":
      return `[resource ${block.title ?? block.name}: ${block.uri}]`;
    case "resource":
      return "text" in block.resource ? block.resource.text : "";
    case "image":
    case "audio":
      return "";
    default:
      return `[content of a type that is not known here]`;
  }
}

function sourceOf(block: ContentBlock): ToolEvent | undefined {
  if (block.type === "resource_link") {
    return sourceEvent(block.uri, block.title ?? block.name);
  }
  return block.type === "resource" ? sourceEvent(block.resource.uri) : undefined;
}

const MAX_TITLE = 200;

/**
 * URIs that run code or contain the content themselves (`javascript:`, `data:`) are not valid
 * sources.
 */
function sourceEvent(uri: string, title?: string): ToolEvent | undefined {
  const url = URL.parse(uri);
  if (url === null || ["javascript:", "data:", "vbscript:", "blob:"].includes(url.protocol)) {
    return undefined;
  }
  return {
    kind: "tool:source",
    url: uri,
    ...(title !== undefined && { title: title.slice(0, MAX_TITLE) }),
  };
}
