import type { Answer } from "@convoke/client";
import {
  type A2APart,
  ClientError,
  type FilePart,
  type Message,
  RemoteError,
  type Task,
  type TaskState,
  textOfParts,
} from "@convoke/protocol";
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import { webUrl } from "./questions.ts";

/**
 * Hosts read a message of at most 10 MB, and their models much less. Text is there
 * twice, in the content and in the structure, and JSON may write a character as six.
 */
const MAX_TEXT = 400_000;

/** In base64; about 1.5 MB. */
const MAX_FILES = 2_000_000;

/** For what must be read to go on, such as a question; it comes on top. */
const MAX_WORDS = 40_000;

/**
 * What a call came to. Some hosts show their model the content alone and others
 * the structure alone, so each says everything: what the agent said, and the ids
 * by which it can be gone on with.
 *
 * @param words what is to be said besides, such as how to answer a question
 */
export function callResult({ task, message }: Answer, words?: string): CallToolResult {
  const maker = new ContentMaker(task?.id ?? message?.messageId ?? "message");
  const failure = task && failureOf(task);
  if (failure !== undefined) maker.tell(failure);
  for (const { parts, name } of task?.artifacts ?? []) maker.add(parts, name);
  const said = task === undefined ? message : lastWords(task);
  if (said !== undefined) maker.add(said.parts);
  if (words !== undefined) maker.tell(words);
  const { blocks, text, data, files } = maker.content;
  const contextId = task?.contextId ?? message?.contextId;
  const ids = {
    ...(task && { taskId: task.id }),
    ...(contextId !== undefined && { contextId }),
    ...(task && { state: task.status.state }),
  };
  return {
    content: [...blocks, ...idsBlock(ids)],
    structuredContent: {
      ...ids,
      text,
      ...(data.length > 0 && { data }),
      ...(files.length > 0 && { files }),
    },
    ...(failure !== undefined && { isError: true }),
  };
}

/** A call that came to no answer. The next one may. */
export function failedResult(problem: string): CallToolResult {
  return { content: [{ type: "text", text: problem }], isError: true };
}

/** What went wrong between us and the agent; nothing for a mistake of ours. */
export function problemOf(error: unknown): string | undefined {
  if (error instanceof RemoteError) {
    const code = error.code === undefined ? "" : ` (code ${error.code})`;
    return `The agent answered with an error: ${error.message}${code}`;
  }
  if (!(error instanceof ClientError)) return undefined;
  const again = error.kind === "unreachable" ? " Once it runs again, the next call works." : "";
  return `The agent gave no answer: ${error.message}.${again}`;
}

const FAILED: Partial<Readonly<Record<TaskState, string>>> = {
  failed: "The task failed",
  rejected: "The agent rejected the task",
  canceled: "The task was canceled",
};

function failureOf({ status }: Task): string | undefined {
  const failure = FAILED[status.state];
  if (failure === undefined) return undefined;
  const why = textOfParts(status.message?.parts ?? []);
  return why === "" ? `${failure}.` : `${failure}: ${why}`;
}

/** What a completed task says where its artifacts say nothing. */
function lastWords({ status, artifacts = [], history = [] }: Task): Message | undefined {
  if (status.state !== "completed") return undefined;
  if (artifacts.some(({ parts }) => textOfParts(parts) !== "")) return undefined;
  return status.message ?? history.findLast(({ role }) => role === "agent");
}

function idsBlock(ids: Readonly<Record<string, string>>): CallToolResult["content"] {
  const told = Object.entries(ids).map(([name, value]) => `${name}: ${value}`);
  return told.length === 0 ? [] : [{ type: "text", text: `[${told.join(", ")}]` }];
}

/** A file, for whoever reads the structure of a result and not its content. */
interface FileFacts {
  readonly name: string;
  readonly mimeType: string;
  readonly uri?: string;
}

/** What an agent said or made, as a host takes it. */
interface Content {
  readonly blocks: readonly ContentBlock[];
  readonly text: string;
  readonly data: readonly unknown[];
  readonly files: readonly FileFacts[];
}

/** Takes parts for as long as there is room; what is left out is named. */
class ContentMaker {
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
