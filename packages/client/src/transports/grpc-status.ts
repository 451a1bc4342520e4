import { ERRORS, type ErrorReason, GRPC_STATUS } from "@convoke/protocol";

export function statusName(number: number): string {
  return GRPC_STATUS[number] ?? "UNKNOWN";
}

/** What a status means where nothing but its name is there. Several errors share most of them. */
const USUAL: Readonly<Record<string, ErrorReason>> = {
  INVALID_ARGUMENT: "InvalidParams",
  NOT_FOUND: "TaskNotFound",
  PERMISSION_DENIED: "Forbidden",
  RESOURCE_EXHAUSTED: "TooManyRequests",
  FAILED_PRECONDITION: "UnsupportedOperation",
  UNIMPLEMENTED: "MethodNotFound",
  INTERNAL: "Internal",
  UNAVAILABLE: "Unavailable",
  UNAUTHENTICATED: "Unauthenticated",
};

/**
 * The kind of an error by its gRPC status and its words: 0.3 has no details that
 * say it, but its servers begin with the title that the specification gives.
 */
export function reasonOfStatus(status: string, message: string): ErrorReason | undefined {
  const words = message.toLowerCase();
  const titled = (Object.keys(ERRORS) as ErrorReason[]).find((reason) => {
    const { title, grpc, ...row } = ERRORS[reason];
    const isSpelled = grpc === status || ("patch0" in row && spelledBefore(row.patch0, status));
    return isSpelled && words.startsWith(title.toLowerCase());
  });
  return titled ?? USUAL[status];
}

/** Where 1.0.0, and the SDKs before it, had another status. */
function spelledBefore(patch: object, status: string): boolean {
  return "grpc" in patch && patch.grpc === status;
}
