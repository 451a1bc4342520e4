import { type A2APart, type FilePart, textOfParts } from "@convoke/protocol";
import type { ContentBlock } from "@modelcontextprotocol/server";
import { webUrl } from "./web-address.ts";

/** A file, for whoever reads the structure of a result and not its content. */
export interface FileFacts {
  readonly name: string;
  readonly mimeType: string;
  readonly uri?: string;
}

/** What an agent said or made, as a host takes it. */
export interface Content {
  readonly blocks: readonly ContentBlock[];
  readonly text: string;
  readonly data: readonly unknown[];
  readonly files: readonly FileFacts[];
}

/**
 * Hosts read a message of at most 10 MB, and their models much less. Text is there
 * twice, in the content and in the structure, and JSON may write a character as six.
 */
const MAX_TEXT = 400_000;
/** In base64; about 1.5 MB. */
const MAX_FILES = 2_000_000;
/** For what must be read to go on, such as a question; it comes on top. */
const MAX_WORDS = 40_000;

/** Takes parts for as long as there is room; what is left out is named. */
export class ContentMaker {
  readonly #blocks: ContentBlock[] = [];
  readonly #texts: string[] = [];
  readonly #data: unknown[] = [];
  readonly #files: FileFacts[] = [];
  readonly #taskId: string;
  #room = MAX_TEXT;
  #fileRoom = MAX_FILES;

  /** The address of a file is made from the id of its task. */
  constructor(taskId: string) {
    this.#taskId = taskId;
  }

  get content(): Content {
    return {
      blocks: this.#blocks,
      text: this.#texts.join("\n"),
      data: this.#data,
      files: this.#files,
    };
  }

  /** The parts of one artifact or message: its text is one piece, however it came. */
  add(parts: readonly A2APart[], name = "file"): void {
    this.#addText(textOfParts(parts));
    for (const part of parts) {
      if (part.kind === "data") this.#addData(part.data);
      if (part.kind === "file") this.#addFile(part, name);
    }
  }

  /** Words that are not left out, however much there was before. */
  tell(text: string): void {
    this.#say(cut(text, MAX_WORDS));
  }

  #addText(text: string): void {
    if (text === "") return;
    this.#say(cut(text, this.#room));
    this.#room = Math.max(0, this.#room - text.length);
  }

  #addData(data: unknown): void {
    const json = JSON.stringify(data, null, 2) ?? "null";
    if (json.length > this.#room) {
      return this.#say(`[data of ${json.length} characters were left out: they are too long]`);
    }
    this.#room -= json.length;
    this.#data.push(data);
    this.#blocks.push({ type: "text", text: json });
  }

  #addFile({ file }: FilePart, artifact: string): void {
    const { name = artifact, mimeType = "application/octet-stream", bytes, uri } = file;
    if (bytes === undefined) return this.#addLink(name, mimeType, uri ?? "");
    if (bytes.length > this.#fileRoom) {
      return this.#say(`[the file ${name} (${mimeType}) was left out: it is too long]`);
    }
    this.#fileRoom -= bytes.length;
    this.#files.push({ name, mimeType });
    this.#blocks.push(this.#fileBlock(name, mimeType, bytes));
  }

  #fileBlock(name: string, mimeType: string, bytes: string): ContentBlock {
    if (mimeType.startsWith("image/")) return { type: "image", data: bytes, mimeType };
    if (mimeType.startsWith("audio/")) return { type: "audio", data: bytes, mimeType };
    const place = [this.#taskId, String(this.#files.length), name].map(encodeURIComponent);
    const uri = `a2a://task/${place.join("/")}`;
    const isText = /^text\/|[/+](?:json|xml|yaml)$/.test(mimeType);
    const resource = isText
      ? { uri, mimeType, text: Buffer.from(bytes, "base64").toString("utf8") }
      : { uri, mimeType, blob: bytes };
    return { type: "resource", resource };
  }

  /** Nothing is fetched: the address comes from the agent. */
  #addLink(name: string, mimeType: string, address: string): void {
    const uri = webUrl(address);
    if (uri === undefined) return this.#say(`[the file ${name} (${mimeType}) has no web address]`);
    this.#files.push({ name, mimeType, uri });
    this.#blocks.push({ type: "resource_link", uri, name, mimeType });
  }

  #say(text: string): void {
    this.#texts.push(text);
    this.#blocks.push({ type: "text", text });
  }
}

function cut(text: string, room: number): string {
  const rest = text.length - room;
  return rest <= 0 ? text : `${text.slice(0, room)}\n[${rest} characters more were left out]`;
}
