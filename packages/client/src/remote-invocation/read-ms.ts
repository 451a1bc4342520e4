import { ValidationError } from "./errors.ts";

/** Timers of a longer time go off at once. */
const MOST_MS = 2 ** 31 - 1;

/** A time limit as it was given, or an error that names the option. */
export function readMs<T extends number | undefined>(field: string, ms: T): T {
  if (ms === undefined || (ms >= 1 && ms <= MOST_MS)) return ms;
  throw new ValidationError(
    `${field} must be a number of milliseconds from 1 to ${MOST_MS}, not ${String(ms)}`,
    { field },
  );
}
