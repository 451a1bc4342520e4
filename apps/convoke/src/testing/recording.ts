import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { canonicalJson, isObject } from "@convoke/protocol/internal";
import type { A2APart, Metadata } from "@convoke/protocol";
import type { Interrupt, ModelErrorKind, ModelRequest, ToolEvent } from "@convoke/runtime";
import {
  type AssistantContent,
  type FinishReason,
  type ModelUsage,
  Secrets,
  type ToolDescription,
} from "@convoke/runtime/testing";

/** What the models and tools of an agent answered in one run, in the order of the questions. */
export interface Recording {
  readonly format: typeof FORMAT;
  readonly version: typeof VERSION;
  /** The tools of MCP servers and sub-agents, which a replay offers without asking for them. */
  readonly foreignTools?: readonly ForeignTool[];
  readonly calls: readonly RecordedCall[];
}

export type RecordedCall = RecordedModelCall | RecordedToolCall;

export type ForeignTool = ToolDescription & { readonly describedBy?: string };

/** A request to a model, and its answer. */
export interface RecordedModelCall {
  readonly kind: "model";
  /** The id of the model that answered. */
  readonly model: string;
  readonly contextTokens?: number;
  /** Absent if it is the same as in the request before. */
  readonly prompt?: RecordedPrompt;
  /** How many messages at the beginning are the same as in the request before. Default 0. */
  readonly keeps?: number;
  /** The other messages. */
  readonly messages: readonly RecordedMessage[];
  readonly answer?: RecordedAnswer;
  /** Instead of an answer. */
  readonly error?: { readonly kind: ModelErrorKind; readonly message: string };
}

/** Everything that a request has in addition to its messages. */
interface RecordedPrompt {
  readonly instructions?: string;
  /** A digest of the description and the schema of each tool. */
  readonly tools: Readonly<Record<string, string>>;
  /** A digest of the schema of the answer. */
  readonly output?: string;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
}

/** A message without the data that only its provider understands. */
type RecordedMessage =
  | { readonly role: "user"; readonly parts: readonly A2APart[] }
  | { readonly role: "assistant"; readonly content: readonly RecordedContent[] }
  | { readonly role: "tool"; readonly results: readonly unknown[] };

export type RecordedContent =
  | { readonly kind: "text" | "reasoning"; readonly text: string }
  | {
      readonly kind: "tool-call";
      readonly toolCallId: string;
      readonly toolName: string;
      /** The arguments; the text of the model, if that is no JSON. */
      readonly input: unknown;
    }
  | { readonly kind: "source"; readonly url: string; readonly title?: string }
  | { readonly kind: "file"; readonly mediaType: string; readonly bytes: string };

export interface RecordedAnswer {
  readonly content: readonly RecordedContent[];
  readonly finish: FinishReason;
  readonly usage: ModelUsage;
}

/** One round of a tool call, also of MCP servers and sub-agents. */
export interface RecordedToolCall {
  readonly kind: "tool";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: Metadata;
  /** The caller had to approve it. */
  readonly approved?: true;
  /** What it showed while it ran. */
  readonly events?: readonly ToolEvent[];
  /** One of these is how it ended. */
  readonly result?: unknown;
  readonly error?: string;
  readonly interrupts?: readonly Interrupt[];
}

/** A request in full, in the form in which it is recorded and compared. */
export interface PlainRequest {
  readonly prompt: RecordedPrompt;
  readonly messages: readonly RecordedMessage[];
}

const FORMAT = "convoke-recording";
const VERSION = 1;

export async function writeRecording(
  file: string,
  { foreignTools, calls }: Pick<Recording, "foreignTools" | "calls">,
): Promise<void> {
  const recording: Recording = {
    format: FORMAT,
    version: VERSION,
    ...(foreignTools && { foreignTools }),
    calls,
  };
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(recording, null, 2)}\n`);
}

export async function readRecording(file: string): Promise<Recording> {
  const remedy = "record it with: convoke record <agent file> <text> --out <file>";
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new Error(`the recording ${file} cannot be read; ${remedy}`, { cause });
  });
  const recording: unknown = parse(text);
  if (!isObject(recording) || recording["format"] !== FORMAT || !Array.isArray(recording["calls"]))
    throw new Error(`${file} is not a recording; ${remedy}`);
  if (recording["version"] !== VERSION) {
    const found = JSON.stringify(recording["version"]);
    throw new Error(`${file} has version ${found}, and this is version ${VERSION}; ${remedy}`);
  }
  return recording as unknown as Recording;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A request as it is recorded: without the data of providers, and with digests of the tools. */
export function plainRequest(request: ModelRequest): PlainRequest {
  const { instructions, tools, output, maxOutputTokens, temperature, transcript } = request;
  return {
    prompt: {
      ...(instructions !== undefined && { instructions }),
      tools: Object.fromEntries(tools.map(({ name, ...rest }) => [name, digest(rest)])),
      ...(output && { output: digest(output) }),
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      ...(temperature !== undefined && { temperature }),
    },
    messages: transcript.map((entry) =>
      entry.role === "assistant"
        ? { role: entry.role, content: entry.content.flatMap(plainContent) }
        : entry,
    ),
  };
}

/** Reasoning is left out: the answer has it, and only its provider wants it back. */
function plainContent(content: AssistantContent): readonly RecordedContent[] {
  if (content.kind === "reasoning") return [];
  if (content.kind === "text") return [{ kind: "text", text: content.text }];
  const { kind, toolCallId, toolName, input } = content;
  return [{ kind, toolCallId, toolName, input: plainInput(input) }];
}

/** The arguments that a model wrote, as JSON if they are. */
export function plainInput(text: string): unknown {
  const value = parse(text);
  return isObject(value) ? value : text;
}

export function isSame(one: unknown, other: unknown): boolean {
  return canonicalJson(one) === canonicalJson(other);
}

/** Short, because it only tells that something has changed. */
function digest(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex").slice(0, 16);
}

const SECRET_NAME = /(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$/i;

/** Shorter values, such as "true", are hardly secrets, and would be masked everywhere. */
const MIN_LENGTH = 8;

/** Everything that a recording must not contain: `given`, and what the environment calls a secret. */
export function secretsOf(given: readonly string[]): Secrets {
  const secrets = new Secrets();
  for (const value of given) secrets.add(value);
  for (const [name, value = ""] of Object.entries(process.env)) {
    if (SECRET_NAME.test(name) && value.length >= MIN_LENGTH) secrets.add(value);
  }
  return secrets;
}
