import type { JsonSchema } from "../model.ts";
import { propertiesOf } from "./fake-arguments.ts";

type Arguments = Readonly<Record<string, unknown>>;

/**
 * Arguments that follow the name of a tool: `(city=Rome, days=3)`, `("Rome")`,
 * `({"city": "Rome"})` or `{"city": "Rome"}`.
 */
export function givenArguments(rest: string, schema: JsonSchema): Arguments | undefined {
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

/** As JSON where it is some and the schema does not ask for text; otherwise the text itself. */
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
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Arguments) : undefined;
  } catch {
    return undefined;
  }
}
