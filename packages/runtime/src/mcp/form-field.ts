import type { JsonSchema } from "../models/model.ts";

/** One field of a form that a server wants filled. */
export interface FormField {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
}

interface Choice {
  readonly value: string;
  readonly title: string;
}

const YES = new Set(["yes", "y", "true"]);
const NO = new Set(["no", "n", "false"]);

export function formFields(form: JsonSchema): readonly FormField[] {
  const required = new Set(form["required"] as readonly string[] | undefined);
  const properties = (form["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>;
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    schema,
    isRequired: required.has(name),
  }));
}

/** What one can choose from, in words for people. */
export function choicesOf({ schema }: FormField): readonly string[] | undefined {
  if (schema["type"] === "boolean") return ["yes", "no"];
  return schema["type"] === "array" ? undefined : choices(schema)?.map(({ title }) => title);
}

/** Words as the field wants them. What does not fit stays as it is, for the check to name. */
export function fieldValue({ schema }: FormField, text: string): unknown {
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

/** Forms have three ways to say what one can choose from. */
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
