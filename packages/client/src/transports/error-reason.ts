import { ERRORS, type ErrorReason } from "@convoke/protocol";

/** What is known of an error, on whichever binding. */
export interface ErrorFacts {
  readonly httpStatus: number;
  readonly code?: number | undefined;
  /** Typed details, where the agent sent any (1.0 §9.5). */
  readonly details?: unknown;
}

const REASONS = Object.keys(ERRORS) as ErrorReason[];

/** `TASK_NOT_FOUND` is TaskNotFound; some say `TASK_NOT_FOUND_ERROR`. */
const BY_NAME = new Map(REASONS.map((reason) => [reason.toUpperCase(), reason]));

/** Codes that one reason has alone, or first. */
const BY_CODE = new Map<number, ErrorReason>(
  [...REASONS].reverse().map((reason) => [ERRORS[reason].code, reason]),
);

/** Refusals beside the protocol have a status of their own. */
const BY_STATUS = new Map(
  REASONS.flatMap((reason): (readonly [number, ErrorReason])[] =>
    "transport" in ERRORS[reason] ? [[ERRORS[reason].http, reason]] : [],
  ),
);

/** The kind of an error: by what its details say, else by its status, else by its code. */
export function reasonOf({ httpStatus, code, details }: ErrorFacts): ErrorReason | undefined {
  const named = reasonIn(details);
  if (named !== undefined) return named;
  if (code === undefined || code === ERRORS.Internal.code) {
    const refused = BY_STATUS.get(httpStatus);
    if (refused !== undefined) return refused;
  }
  return code === undefined ? undefined : BY_CODE.get(code);
}

/** The reason of the ErrorInfo among the details. */
export function reasonIn(details: unknown): ErrorReason | undefined {
  if (!Array.isArray(details)) return undefined;
  for (const detail of details as readonly unknown[]) {
    const { reason } = (detail ?? {}) as { readonly reason?: unknown };
    if (typeof reason !== "string") continue;
    const name = reason.replaceAll("_", "").toUpperCase();
    const found = BY_NAME.get(name) ?? BY_NAME.get(name.replace(/ERROR$/, ""));
    if (found !== undefined) return found;
  }
  return undefined;
}
