import type { RetentionOptions } from "@convoke/engine";
import { readCount } from "./count.ts";

const DAY_MS = 24 * 60 * 60_000;

/** How long ended tasks are kept. What is not set is left open: it depends on where they are kept. */
export function readRetention(
  env: Readonly<Record<string, string | undefined>>,
): Partial<RetentionOptions> {
  const days = readCount("CONVOKE_KEEP_DAYS", env["CONVOKE_KEEP_DAYS"]);
  const maxTasks = readCount("CONVOKE_KEEP_TASKS", env["CONVOKE_KEEP_TASKS"]);
  return {
    ...(days !== undefined && { maxAgeMs: days * DAY_MS }),
    ...(maxTasks !== undefined && { maxTasks }),
  };
}
