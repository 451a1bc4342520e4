import type { Metadata } from "@convoke/protocol";
import { digestArguments } from "../approvals/gate.ts";
import type { Tool } from "../tools/tool.ts";

export type CheckedArguments =
  | {
      readonly ok: true;
      /** As the tool wants them. */
      readonly input: unknown;
      /** Of the arguments as they were given. */
      readonly digest: string;
    }
  | { readonly ok: false; readonly problem: string };

/** Checks the arguments of a call. A copy is checked, so that later changes to the original have no effect. */
export async function checkArguments(tool: Tool, given: Metadata): Promise<CheckedArguments> {
  try {
    const copy = structuredClone(given);
    const digest = digestArguments(copy);
    const checked = await tool.check(copy);
    if (checked.ok) return { ok: true, input: checked.input, digest };
    return { ok: false, problem: checked.problems.join("; ") };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}

type ParsedArguments =
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
