import { A2AError } from "@convoke/protocol";

/**
 * An error with which a backend may reject if it knows whether the same call can succeed later:
 * `false` for a full disk, `true` for a damaged database.
 */
export interface StorageFailure extends Error {
  readonly isPermanent: boolean;
}

export function isStorageFailure(error: unknown): error is StorageFailure {
  return error instanceof Error && "isPermanent" in error && typeof error.isPermanent === "boolean";
}

/** What a caller receives while the storage cannot be written. */
export function unavailable(detail: string, cause?: unknown): A2AError {
  return new A2AError("Unavailable", `the storage of the server cannot be written: ${detail}`, {
    ...(cause !== undefined && { cause }),
  });
}
