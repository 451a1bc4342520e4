import { MAX_TIMER_MS } from "@convoke/protocol/internal";
import { ValidationError } from "./errors.ts";

/** A time limit as it was given, or an error that names the option. */
export function readMs<T extends number | undefined>(field: string, ms: T): T {
  if (ms === undefined || (ms >= 1 && ms <= MAX_TIMER_MS)) return ms;
  throw new ValidationError(
    `${field} must be a number of milliseconds from 1 to ${MAX_TIMER_MS}, not ${String(ms)}`,
    { field },
  );
}
