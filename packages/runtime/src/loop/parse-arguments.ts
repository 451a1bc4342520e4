import type { Metadata } from "@convoke/protocol";

export type ParsedArguments =
  | { readonly ok: true; readonly arguments: Metadata }
  | { readonly ok: false; readonly problem: string };

/** The arguments that a model wrote as JSON text. No text is no arguments. */
export function parseArguments(text: string): ParsedArguments {
  if (text.trim() === "") return { ok: true, arguments: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : "it cannot be read";
    return { ok: false, problem: `The arguments are not JSON: ${why}.` };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { ok: false, problem: "The arguments must be a JSON object." };
  }
  return { ok: true, arguments: value as Metadata };
}
