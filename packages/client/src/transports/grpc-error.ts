import { ERRORS, RemoteError } from "@convoke/protocol";
import { decodeStatusDetails } from "@convoke/protocol/grpc";
import { reasonIn, reasonOf } from "./error-reason.ts";
import type { GrpcEnd } from "./grpc-channel.ts";
import { reasonOfStatus, statusName } from "./grpc-status.ts";

/** The error that a call ended with, as the other bindings have it; undefined when it succeeded. */
export function grpcError(end: GrpcEnd, clean: (text: string) => string): RemoteError | undefined {
  const { httpStatus, status } = end;
  if (status === 0 && httpStatus === 200) return undefined;
  // Something before the agent answered, and knows nothing of gRPC.
  if (status === undefined) {
    return new RemoteError(`HTTP ${httpStatus} instead of an answer by gRPC`, {
      httpStatus,
      reason: reasonOf({ httpStatus }),
    });
  }
  const details = detailsOf(end.details);
  const name = statusName(status);
  const reason = reasonIn(details) ?? reasonOfStatus(name, end.message);
  const row = reason === undefined ? ERRORS.Internal : ERRORS[reason];
  return new RemoteError(withChallenge(clean(end.message) || `gRPC ${name}`, end), {
    httpStatus: row.http,
    code: row.code,
    reason,
    data: details,
    retryAfterMs: pushback(end),
  });
}

/** Details that cannot be read are none: the status and its words say enough. */
function detailsOf(bytes: Uint8Array | undefined): readonly object[] | undefined {
  if (bytes === undefined) return undefined;
  try {
    return decodeStatusDetails(bytes).details;
  } catch {
    return undefined;
  }
}

function withChallenge(words: string, { status, headers }: GrpcEnd): string {
  const asks = headers["www-authenticate"];
  return status === 16 && asks ? `${words}; it asks for ${asks.slice(0, 200)}` : words;
}

/** gRPC has a name of its own for it. */
function pushback({ headers }: GrpcEnd): number | undefined {
  const value = headers["grpc-retry-pushback-ms"];
  return value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}
