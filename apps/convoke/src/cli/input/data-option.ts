import type { DataPart } from "@convoke/protocol";
import { UsageError } from "../usage-error.ts";

/** Reads `--data json`. */
export function readDataPart(text: string): DataPart {
  try {
    return { kind: "data", data: JSON.parse(text) as unknown };
  } catch (error) {
    const why = error instanceof Error ? error.message : "it cannot be parsed";
    throw new UsageError(`--data is not JSON: ${why}. Put single quotes around it: '{"a":1}'`);
  }
}
