import { randomUUID } from "node:crypto";
import type {
  JsonSchema,
  Model,
  ModelRequest,
  ToolDescription,
  ToolResultEntry,
  TranscriptEntry,
} from "../../model/model.ts";
import { playScript } from "../script/play-script.ts";
import { ModelError } from "../../model/model-error.ts";
import { finishOf, words } from "../script/script-pieces.ts";
import type { ScriptStep } from "../script/script-step.ts";
import { isObject } from "@convoke/protocol/internal";

interface DemoOptions {
  /** Delay between words, so that a person can watch them arrive. */
  readonly wordDelayMs?: number;
}

/**
 * A model that needs neither a key nor any AI, to try out the system. It knows a few commands, and
 * always gives the same answer to the same request, except to `vary`, as a real model would.
 */
export function demoModel({ wordDelayMs = 10 }: DemoOptions = {}): Model {
  return {
    id: "demo",
    stream: (request, signal) =>
      playScript({ steps: () => demoAnswer(request), wordDelayMs }, signal),
  };
}

/** The demo model's answer to a request. */
function demoAnswer(request: ModelRequest): readonly ScriptStep[] {
  const steps = answer(request);
  const { usage } = finishOf(steps);
  const inputTokens = words(transcriptText(request)).length;
  return [...steps, { kind: "finish", usage: { ...usage, inputTokens } }];
}

function answer(request: ModelRequest): readonly ScriptStep[] {
  const last = request.transcript.at(-1);
  const text = lastText(request);
  if (last?.role === "tool") return final(summaryOf(last.results), request);
  const calls = namedCalls(text, request);
  const thoughts = /\bthink\b/i.test(text) ? [thought(request)] : [];
  if (calls.length > 0) {
    const names = calls.map(({ step }) => `\`${step.toolName}\``).join(" and ");
    const notes = calls.flatMap((call) => call.notes);
    const steps = calls.map(({ step }) => step);
    return [...thoughts, say([`I call ${names}.`, ...notes].join(" ")), ...steps];
  }
  return [...thoughts, ...command(text, request)];
}

/** The final answer: the text, or made-up data if the agent wants an object. */
function final(text: string, request: ModelRequest): readonly ScriptStep[] {
  if (request.output === undefined) return [say(text)];
  const made = fakeArguments(request.output, lastText(request));
  return [{ kind: "text", text: JSON.stringify(made) }];
}

function command(text: string, request: ModelRequest): readonly ScriptStep[] {
  const [, how = "", upTo] = /\b(count|vary)(?: to)? (\d{1,5})\b/i.exec(text) ?? [];
  if (upTo !== undefined) {
    const numbers = counted(Number(upTo));
    return [say(how.toLowerCase() === "vary" ? inOtherWords(numbers) : numbers)];
  }
  if (/^\s*fail\b/i.test(text)) {
    throw new ModelError("refused", "demo: the demo model was asked to fail, and does");
  }
  if (/^\s*cite\b/i.test(text)) {
    const url = "https://a2a-protocol.org/";
    return [say("This says where it comes from."), { kind: "source", url, title: "A2A Protocol" }];
  }
  return final(help(text, request), request);
}

const DEMO_LABEL = "Demo model, no AI.";

function say(text: string): ScriptStep {
  return { kind: "text", text: `${DEMO_LABEL} ${text}` };
}

function thought({ tools, transcript }: ModelRequest): ScriptStep {
  const text = `I look at ${transcript.length} entries and ${tools.length} tools, and choose by the words.`;
  return { kind: "reasoning", text };
}

function counted(upTo: number): string {
  return Array.from({ length: upTo }, (_, index) => index + 1).join(" ");
}

/** An opening that is another one each time. */
function inOtherWords(text: string): string {
  return `In other words (${randomUUID().slice(0, 8)}): ${text}`;
}

/** Maximum length of a tool result in a summary. */
const MAX_RESULT = 400;

function summaryOf(results: readonly ToolResultEntry[]): string {
  return results
    .map(({ toolName, output, isError }) => {
      const text = typeof output === "string" ? output : JSON.stringify(output ?? null);
      const short = text.length > MAX_RESULT ? `${text.slice(0, MAX_RESULT)}…` : text;
      return isError ? `\`${toolName}\` failed: ${short}` : `\`${toolName}\` gave: ${short}`;
    })
    .join("\n");
}

function help(text: string, { tools }: ModelRequest): string {
  const heard = text === "" ? "I heard no text." : `I heard “${text.slice(0, 200)}”.`;
  const offers = tools.map(
    ({ name }) => `- \`${name}\`: I call this tool; also \`${name}(argument=value)\``,
  );
  return [
    `${heard} Try one of these:`,
    ...offers,
    "- `count to 50`: a long answer, to watch it or to cancel it",
    "- `vary to 50`: the same in other words each time, as after `kill -9` in the middle of it",
    "- `think`: I show a thought first",
    "- `cite`: I name a source",
    "- `fail`: I fail, to see what that looks like",
  ].join("\n");
}

/** The text of the last user message. */
function lastText({ transcript }: ModelRequest): string {
  const entry = transcript.findLast(({ role }) => role === "user");
  return entry === undefined ? "" : textOf(entry).trim();
}

/** All text of the request, for counting tokens. */
function transcriptText({ instructions = "", transcript }: ModelRequest): string {
  return [instructions, ...transcript.map(textOf)].join(" ");
}

function textOf(entry: TranscriptEntry): string {
  switch (entry.role) {
    case "user":
      return entry.parts.map((part) => (part.kind === "text" ? part.text : "")).join(" ");
    case "assistant":
      return entry.content
        .map((content) => (content.kind === "tool-call" ? content.input : content.text))
        .join(" ");
    case "tool":
      return entry.results.map(({ output }) => JSON.stringify(output ?? null)).join(" ");
  }
}

interface Call {
  readonly step: ScriptStep & { readonly kind: "tool-call" };
  /** Which of the given arguments are not used as they were written. */
  readonly notes: readonly string[];
}

/** The tools that a text names, in order, with the arguments that it gives for them. */
function namedCalls(text: string, request: ModelRequest): readonly Call[] {
  const named = request.tools
    .map((tool) => ({ tool, at: placeOf(tool.name, text) }))
    .filter(({ at }) => at >= 0)
    .toSorted((one, other) => one.at - other.at);
  const found = named.length > 0 ? named : bySort(text, request.tools);
  const earlier = countCalls(request);
  return found.map(({ tool, at }, index) => {
    const given =
      at < 0 ? undefined : givenArguments(text.slice(at + tool.name.length), tool.inputSchema);
    const { fitting, notes } = fit(given ?? {}, tool);
    const toolCallId = `demo-${earlier + index + 1}`;
    const input = { ...fakeArguments(tool.inputSchema, text), ...fitting };
    return { step: { kind: "tool-call", toolCallId, toolName: tool.name, input }, notes };
  });
}

/**
 * The given arguments that the tool has. The value of one that it does not have is used for a
 * missing one if it fits there, and ignored otherwise.
 */
function fit(
  given: Arguments,
  { name: toolName, inputSchema }: ToolDescription,
): { readonly fitting: Arguments; readonly notes: readonly string[] } {
  const properties = propertiesOf(inputSchema);
  const isKnown = (name: string): boolean => Object.hasOwn(properties, name);
  const fitting = Object.fromEntries(Object.entries(given).filter(([name]) => isKnown(name)));
  const notes = Object.entries(given).flatMap(([name, value]) => {
    if (isKnown(name)) return [];
    const missing = Object.keys(properties).find(
      (other) => !Object.hasOwn(fitting, other) && isFor(properties[other], value),
    );
    const unknown = `\`${toolName}\` has no argument \`${name}\``;
    if (missing === undefined) return [`${unknown}, so I ignore it.`];
    fitting[missing] = value;
    return [`${unknown}, so I use its value as \`${missing}\`.`];
  });
  return { fitting, notes };
}

/** Whether a value has the type that a property wants. */
function isFor(schema: JsonSchema | undefined, value: unknown): boolean {
  const wanted = [schema?.["type"]].flat();
  if (typeof value === "number") return wanted.includes("number") || wanted.includes("integer");
  return wanted.includes(Array.isArray(value) ? "array" : typeof value);
}

/** The position of a name as a whole word in a text, ignoring case. */
function placeOf(name: string, text: string): number {
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return text.search(new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`, "i"));
}

/** Words for a group of tools, for people who do not know the tool names. */
const SORTS: readonly { readonly word: RegExp; readonly tool: RegExp }[] = [
  {
    word: /\b(approv\w*|permission)\b/i,
    tool: /approv|confirm|refund|pay|delete|remove|send|write/i,
  },
  { word: /\b(agent|delegate)\b/i, tool: /agent|delegate/i },
];

function bySort(
  text: string,
  tools: readonly ToolDescription[],
): readonly { readonly tool: ToolDescription; readonly at: number }[] {
  const sort = SORTS.find(({ word }) => word.test(text));
  const tool =
    sort && tools.find(({ name, description }) => sort.tool.test(`${name} ${description}`));
  return tool === undefined ? [] : [{ tool, at: -1 }];
}

function countCalls({ transcript }: ModelRequest): number {
  return transcript.reduce((sum, entry) => {
    if (entry.role !== "assistant") return sum;
    return sum + entry.content.filter(({ kind }) => kind === "tool-call").length;
  }, 0);
}

type Arguments = Readonly<Record<string, unknown>>;

/**
 * Parses the arguments that follow a tool name: `(city=Rome, days=3)`, `("Rome")`, `({"city":
 * "Rome"})` or `{"city": "Rome"}`.
 */
function givenArguments(rest: string, schema: JsonSchema): Arguments | undefined {
  const [, inside] = /^\s*\(([\s\S]*?)\)\s*(?:$|[.,;!?\n]|\s)/.exec(`${rest} `) ?? [];
  const json = asObject(inside ?? "") ?? asObject(/^\s*(\{[\s\S]*\})/.exec(rest)?.[1] ?? "");
  if (json !== undefined) return json;
  if (inside === undefined || inside.trim() === "") return undefined;
  const properties = propertiesOf(schema);
  const names = Object.keys(properties);
  const pairs = inside.split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/).map((item, index) => {
    const [, name, value] = /^\s*([\w-]+)\s*[=:]\s*([\s\S]*)$/.exec(item) ?? [];
    const key = name ?? names[index] ?? `argument${index + 1}`;
    return [key, valueOf((value ?? item).trim(), properties[key])] as const;
  });
  return Object.fromEntries(pairs);
}

/**
 * Parses the text as JSON if possible, unless the schema expects a string. Otherwise returns the
 * text itself.
 */
function valueOf(text: string, schema: JsonSchema | undefined): unknown {
  const [, quoted] = /^(?:"([\s\S]*)"|'[\s\S]*')$/.exec(text) ?? [];
  if (quoted !== undefined) return quoted;
  if (text.startsWith("'") && text.endsWith("'") && text.length > 1) return text.slice(1, -1);
  if (schema?.["type"] === "string") return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function asObject(text: string): Arguments | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Makes up arguments that match a schema. Only required properties are filled in. */
function fakeArguments(schema: JsonSchema, text: string): Record<string, unknown> {
  const properties = Object.entries(propertiesOf(schema));
  const required = Array.isArray(schema["required"]) ? (schema["required"] as unknown[]) : [];
  return Object.fromEntries(
    properties
      .filter(([name]) => required.includes(name))
      .map(([name, property]) => [name, fake(name, property, text)]),
  );
}

/** The properties that a schema declares. */
function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  const properties = schema["properties"];
  return typeof properties === "object" && properties !== null
    ? (properties as Readonly<Record<string, JsonSchema>>)
    : {};
}

function fake(name: string, schema: JsonSchema, text: string): unknown {
  const told = fromSentence(name, schema, text);
  if (told !== undefined) return told;
  for (const key of ["const", "default"]) if (key in schema) return schema[key];
  for (const key of ["enum", "examples"]) {
    const [first] = Array.isArray(schema[key]) ? (schema[key] as unknown[]) : [];
    if (first !== undefined) return first;
  }
  for (const key of ["anyOf", "oneOf", "allOf"]) {
    const [first] = Array.isArray(schema[key]) ? (schema[key] as JsonSchema[]) : [];
    if (first !== undefined) return fake(name, first, text);
  }
  const types = [schema["type"]].flat();
  if (types.includes("object") || "properties" in schema) return fakeArguments(schema, text);
  if (types.includes("array")) return fakeList(name, schema, text);
  if (types.includes("number") || types.includes("integer")) return fakeNumber(schema);
  if (types.includes("boolean")) return true;
  if (types.includes("null")) return null;
  return fakeText(name, schema, text);
}

/** Names in the middle of a sentence, such as "Rome" and "New York". */
const NAMES = /(?<=[\p{L}\p{N},]\s+)\p{Lu}[\p{L}'’-]*(?:\s\p{Lu}[\p{L}'’-]*)*/u;

/** The value for a property that the user's own words give, if any. */
function fromSentence(name: string, schema: JsonSchema, text: string): unknown {
  const choices = Array.isArray(schema["enum"]) ? (schema["enum"] as unknown[]) : undefined;
  if (choices !== undefined) {
    return choices.find((choice) => typeof choice === "string" && placeOf(choice, text) >= 0);
  }
  const { type, format, default: usual } = schema;
  if ("const" in schema || format !== undefined || usual !== undefined) return undefined;
  if (type === "number" || type === "integer") {
    const [number] = /(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)/.exec(text) ?? [];
    const value = Number(number);
    const isWhole = type === "number" || Number.isInteger(value);
    return number !== undefined && isWhole ? value : undefined;
  }
  if (type !== "string" || WORDS.test(name)) return undefined;
  return /"([^"]+)"/.exec(text)?.[1] ?? NAMES.exec(text)?.[0];
}

function fakeList(name: string, schema: JsonSchema, text: string): readonly unknown[] {
  const items = (schema["items"] ?? {}) as JsonSchema;
  const length = Math.min(Math.max(1, Number(schema["minItems"] ?? 1)), 20);
  return Array.from({ length }, () => fake(name, items, text));
}

function fakeNumber(schema: JsonSchema): number {
  const step = Number(schema["multipleOf"] ?? 1);
  const least =
    "exclusiveMinimum" in schema
      ? Number(schema["exclusiveMinimum"]) + step
      : Number(schema["minimum"] ?? step);
  const most =
    "exclusiveMaximum" in schema
      ? Number(schema["exclusiveMaximum"]) - step
      : Number(schema["maximum"] ?? least);
  return Math.min(least, most);
}

const BY_FORMAT: Readonly<Record<string, string>> = {
  "date-time": "2026-01-31T12:00:00Z",
  date: "2026-01-31",
  time: "12:00:00Z",
  email: "ann@example.com",
  uri: "https://example.com/",
  url: "https://example.com/",
  uuid: "00000000-0000-4000-8000-000000000000",
};

/** Properties that are filled with the user's text, such as the message to another agent. */
const WORDS = /^(message|prompt|text|query|question|task|input|instructions?|request|content)$/i;

function fakeText(name: string, schema: JsonSchema, text: string): string {
  const value =
    BY_FORMAT[String(schema["format"])] ??
    (WORDS.test(name) && text !== "" ? text : `demo ${name}`);
  const least = Number(schema["minLength"] ?? 0);
  const most = Number(schema["maxLength"] ?? Number.POSITIVE_INFINITY);
  return value.padEnd(least, ".").slice(0, most);
}
