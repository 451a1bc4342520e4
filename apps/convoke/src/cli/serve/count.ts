import { StartError } from "./start-error.ts";

/** The number that a setting gives, or nothing when it is not set. */
export function readCount(name: string, value: string | undefined): number | undefined {
  if (value === undefined || value === "") return undefined;
  const count = countOf(value);
  if (count !== undefined) return count;
  throw new StartError(`${name} must be a whole number above 0, not ${JSON.stringify(value)}.`);
}

/** A whole number above 0, or `undefined` for anything else. */
export function countOf(value: string): number | undefined {
  const count = Number(value);
  return /^\d+$/.test(value) && count > 0 && Number.isSafeInteger(count) ? count : undefined;
}
