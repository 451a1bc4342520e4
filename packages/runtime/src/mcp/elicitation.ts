import { isObject } from "@convoke/protocol/internal";
import type { ElicitRequestParams, ElicitResult } from "@modelcontextprotocol/client";
import { createHash } from "node:crypto";
import type { AuthRequired, InputRequired, InterruptAnswer } from "../tools/tool.ts";
import { serverSchemaCheck } from "./server-schema.ts";
import { webUrl } from "../tools/interrupts.ts";
import type { JsonSchema } from "../model/model.ts";

/** The answer to send to the server, or what is wrong with it. */
export type ElicitAnswer =
  | { readonly ok: true; readonly result: ElicitResult }
  | { readonly ok: false; readonly problem: string };

const MAX_PROMPT = 4000;

/**
 * Converts a server's question to an interrupt of its call. The id is derived from the question, so
 * a call that is repeated after a crash finds the earlier answer, and a different question does
 * not.
 */
export function elicitationInterrupt(
  server: string,
  params: ElicitRequestParams,
  place: number,
): InputRequired | AuthRequired {
  const prompt = `The MCP server ${server} asks: ${params.message}`.slice(0, MAX_PROMPT);
  if (params.mode === "url") {
    const url = webUrl(params.url);
    const requestId = idOf(place, [params.message, params.url]);
    return { kind: "interrupt:auth", requestId, prompt, ...(url !== undefined && { url }) };
  }
  const { requestedSchema } = params;
  const fields = formFields(requestedSchema);
  const [only] = fields;
  const choices = only !== undefined && fields.length === 1 ? choicesOf(only) : undefined;
  return {
    kind: "interrupt:input",
    requestId: idOf(place, [params.message, requestedSchema]),
    prompt: choices === undefined ? withFields(prompt, fields) : prompt,
    // The options must include the word that declines the question.
    ...(choices && { options: [...choices, "decline"] }),
    metadata: { server, requestedSchema },
  };
}

const ID = /^elicitation-/;

/** Whether this request id belongs to a question from a server. */
export function isElicitationId(requestId: string): boolean {
  return ID.test(requestId);
}

/** Converts a person's answer to the format that the server expects. */
export async function elicitationAnswer(
  params: ElicitRequestParams,
  answer: InterruptAnswer,
): Promise<ElicitAnswer> {
  const text = answer.text.trim();
  const word = text.toLowerCase();
  if (word === "decline" || word === "cancel") return { ok: true, result: { action: word } };
  if (params.mode === "url") return { ok: true, result: { action: "accept" } };
  const given = objectOf(text);
  const action = given?.["action"];
  if (action === "decline" || action === "cancel") return { ok: true, result: { action } };
  const fields = formFields(params.requestedSchema);
  const content =
    given === undefined
      ? contentOfText(text, fields)
      : action === "accept" && isObject(given["content"])
        ? given["content"]
        : given;
  if (content === undefined) {
    return { ok: false, problem: "The answer must be JSON with the fields that are asked for." };
  }
  const checked = await serverSchemaCheck(params.requestedSchema)(content);
  if (!checked.ok)
    return { ok: false, problem: `The answer does not fit: ${checked.problems.join("; ")}.` };
  return { ok: true, result: { action: "accept", content: content as ElicitResult["content"] } };
}

function idOf(place: number, facts: readonly unknown[]): string {
  const digest = createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 8);
  return `elicitation-${place}-${digest}`;
}

function withFields(prompt: string, fields: readonly FormField[]): string {
  if (fields.length === 0) return prompt;
  const lines = fields.map(({ name, schema, isRequired }) => {
    const choices = choicesOf({ name, schema, isRequired });
    const named = typeof schema["type"] === "string" ? schema["type"] : "any";
    const type = choices?.join(" | ") ?? named;
    const about = schema["description"] ?? schema["title"];
    const described = typeof about === "string" ? `: ${about}` : "";
    return `- ${name} (${type}${isRequired ? ", required" : ""})${described}`;
  });
  const intro = "Answer with JSON, or with decline:";
  return `${prompt}\n${intro}\n${lines.join("\n")}`.slice(0, MAX_PROMPT);
}

/** Plain text fills the only field, or the only required one. */
function contentOfText(
  text: string,
  fields: readonly FormField[],
): Readonly<Record<string, unknown>> | undefined {
  if (fields.length === 0) return {};
  const required = fields.filter(({ isRequired }) => isRequired);
  const [field] = fields.length === 1 ? fields : required.length === 1 ? required : [];
  return field === undefined || text === "" ? undefined : { [field.name]: fieldValue(field, text) };
}

function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** One field of a form that a server asks to be filled in. */
interface FormField {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
}

interface Choice {
  readonly value: string;
  readonly title: string;
}

function formFields(form: JsonSchema): readonly FormField[] {
  const required = new Set(form["required"] as readonly string[] | undefined);
  const properties = (form["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>;
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    schema,
    isRequired: required.has(name),
  }));
}

/** The choices of a field as display text. */
function choicesOf({ schema }: FormField): readonly string[] | undefined {
  if (schema["type"] === "boolean") return ["yes", "no"];
  return schema["type"] === "array" ? undefined : choices(schema)?.map(({ title }) => title);
}

const NO = new Set(["no", "n", "false"]);

const YES = new Set(["yes", "y", "true"]);

/**
 * Converts text to the type of the field. Text that does not fit is returned unchanged, so that the
 * schema check reports it.
 */
function fieldValue({ schema }: FormField, text: string): unknown {
  const word = text.trim().toLowerCase();
  switch (schema["type"]) {
    case "boolean":
      return YES.has(word) ? true : NO.has(word) ? false : text;
    case "number":
    case "integer":
      return word === "" || Number.isNaN(Number(word)) ? text : Number(word);
    case "array": {
      const items = (schema["items"] ?? {}) as JsonSchema;
      return text.split(",").map((piece) => chosen(items, piece.trim()));
    }
    default:
      return chosen(schema, text);
  }
}

function chosen(schema: JsonSchema, text: string): string {
  const word = text.toLowerCase();
  const found = choices(schema)?.find(
    ({ value, title }) => value.toLowerCase() === word || title.toLowerCase() === word,
  );
  return found?.value ?? text;
}

/** MCP form schemas have three ways to list the available choices. */
function choices(schema: JsonSchema): readonly Choice[] | undefined {
  const titled = (schema["oneOf"] ?? schema["anyOf"]) as
    | readonly { readonly const?: unknown; readonly title?: unknown }[]
    | undefined;
  if (titled !== undefined) {
    return titled.map((one) => ({
      value: String(one.const),
      title: String(one.title ?? one.const),
    }));
  }
  const values = schema["enum"] as readonly unknown[] | undefined;
  const names = schema["enumNames"] as readonly unknown[] | undefined;
  return values?.map((value, place) => ({
    value: String(value),
    title: String(names?.[place] ?? value),
  }));
}
