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
 * The result of a call. Some hosts show their model only the content, others only the structured
 * content, so both contain everything: the answer, and the ids to continue with.
 *
 * @param words additional text, for example how to answer a question
 */
export function callResult({ task, message }: Answer, words?: string): CallToolResult {
  const maker = new ContentBuilder(task?.id ?? message?.messageId ?? "message");
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

/** The result of a call that failed. The next one may succeed. */
export function failedResult(problem: string): CallToolResult {
  return { content: [{ type: "text", text: problem }], isError: true };
}

/** What went wrong between us and the agent, or `undefined` for a bug of ours. */
export function describeProblem(error: unknown): string | undefined {
  if (error instanceof RemoteError) {
    const code = error.code === undefined ? "" : ` (code ${error.code})`;
    return `The agent answered with an error: ${error.message}${code}`;
  }
  if (!(error instanceof ClientError)) return undefined;
  const again =
    error.kind === "unreachable" ? " Once it is running again, the next call will work." : "";
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

/** The final message of a completed task without text artifacts. */
function lastWords({ status, artifacts = [], history = [] }: Task): Message | undefined {
  if (status.state !== "completed") return undefined;
  if (artifacts.some(({ parts }) => textOfParts(parts) !== "")) return undefined;
  return status.message ?? history.findLast(({ role }) => role === "agent");
}

function idsBlock(ids: Readonly<Record<string, string>>): CallToolResult["content"] {
  const told = Object.entries(ids).map(([name, value]) => `${name}: ${value}`);
  return told.length === 0 ? [] : [{ type: "text", text: `[${told.join(", ")}]` }];
}

/** A file in the structured content of a result. */
interface FileFacts {
  readonly name: string;
  readonly mimeType: string;
  readonly uri?: string;
}

/** The output of an agent in MCP form. */
interface Content {
  readonly blocks: readonly ContentBlock[];
  readonly text: string;
  readonly data: readonly unknown[];
  readonly files: readonly FileFacts[];
}

/** For text that is needed to continue, such as a question; in addition to the limits above. */
const MAX_WORDS = 40_000;

/** In base64; about 1.5 MB. */
const MAX_FILES = 2_000_000;

/**
 * Hosts read messages of at most 10 MB, and their models much less. Text appears twice, in the
 * content and in the structured content, and JSON may need six bytes for a character.
 */
const MAX_TEXT = 400_000;

/** Collects parts up to the limits, and mentions what was left out. */
class ContentBuilder {
  readonly #blocks: ContentBlock[] = [];
  readonly #texts: string[] = [];
  readonly #data: unknown[] = [];
  readonly #files: FileFacts[] = [];
  readonly #taskId: string;
  #room = MAX_TEXT;
  #fileRoom = MAX_FILES;

  /** The URI of a file contains the id of its task. */
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

  /** Adds the parts of one artifact or message, with its text as one block. */
  add(parts: readonly A2APart[], name = "file"): void {
    this.#addText(textOfParts(parts));
    for (const part of parts) {
      if (part.kind === "data") this.#addData(part.data);
      if (part.kind === "file") this.#addFile(part, name);
    }
  }

  /** Adds text that is never left out. */
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
      return this.#say(`[${json.length} characters of data were left out: too long]`);
    }
    this.#room -= json.length;
    this.#data.push(data);
    this.#blocks.push({ type: "text", text: json });
  }

  #addFile({ file }: FilePart, artifact: string): void {
    const { name = artifact, mimeType = "application/octet-stream", bytes, uri } = file;
    if (bytes === undefined) return this.#addLink(name, mimeType, uri ?? "");
    if (bytes.length > this.#fileRoom) {
      return this.#say(`[the file ${name} (${mimeType}) was left out: too long]`);
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

  /** Adds a link. The file is not downloaded, because the address comes from the agent. */
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
  return rest <= 0 ? text : `${text.slice(0, room)}\n[${rest} more characters were left out]`;
}
