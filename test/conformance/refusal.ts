import type { WireError } from "@convoke/check/wire";
import { ERRORS, type ErrorReason } from "@convoke/protocol";

/** An error as its binding represents it. */
interface RefusalFacts {
  readonly reason: ErrorReason | undefined;
  readonly message: string;
  /** The JSON-RPC code, if the binding has one. */
  readonly code?: number;
  /** The HTTP status, if it is significant. */
  readonly http?: number;
  /** The gRPC status. */
  readonly grpc?: number;
  /** Its name, if REST has it. */
  readonly status?: string | undefined;
  /** The typed details of 1.0. */
  readonly details?: readonly ErrorDetail[];
  /** The invalid field. */
  readonly field?: string | undefined;
}

/** A detail of an error in 1.0. */
export interface ErrorDetail {
  readonly "@type": string;
  readonly reason?: string;
  readonly domain?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly fieldViolations?: readonly { readonly field: string; readonly description: string }[];
}

/** An error response. The reason is the same on every binding; the rest depends on the binding. */
export class Refusal extends Error {
  readonly reason: ErrorReason | undefined;
  readonly code: number | undefined;
  readonly http: number | undefined;
  readonly grpc: number | undefined;
  readonly status: string | undefined;
  readonly details: readonly ErrorDetail[];
  readonly field: string | undefined;

  constructor(facts: RefusalFacts) {
    const { message, reason, code, http, grpc, status, details = [], field } = facts;
    super(message);
    this.name = "Refusal";
    this.reason = reason;
    this.code = code;
    this.http = http;
    this.grpc = grpc;
    this.status = status;
    this.details = details;
    this.field = field ?? violatedField(details);
  }
}

const REASONS = Object.keys(ERRORS) as readonly ErrorReason[];

/** The error in a response, or in the last event of a stream. */
export function refusalFrom(error: WireError, body: unknown): Refusal {
  const { message, code, http, grpc } = error;
  const details = error.details as readonly ErrorDetail[];
  const { status, data, error: inner } = (body ?? {}) as ErrorBody;
  return new Refusal({
    message,
    reason: reasonOf(error, details),
    details,
    field: (data ?? inner?.data)?.field,
    ...(code !== undefined && { code }),
    ...(http !== undefined && { http }),
    ...(grpc !== undefined && { grpc }),
    ...((status ?? inner?.status) !== undefined && { status: status ?? inner?.status }),
  });
}

/** The bare error of 0.3 REST, or the one in the envelope of JSON-RPC and 1.0 REST. */
interface ErrorBody extends ErrorFields {
  readonly error?: ErrorFields;
}

interface ErrorFields {
  readonly status?: string;
  readonly data?: { readonly field?: string };
}

/**
 * Typed details must have the reason. Without them it follows from the code, or in 0.3 gRPC from
 * the start of the text.
 */
function reasonOf(
  { code, message }: WireError,
  details: readonly ErrorDetail[],
): ErrorReason | undefined {
  if (details.length > 0) return reasonInDetails(details);
  return code === undefined ? reasonOfText(message) : reasonOfCode(code);
}

/** The reason in a list of typed details: TASK_NOT_FOUND is TaskNotFound. */
function reasonInDetails(details: readonly ErrorDetail[]): ErrorReason | undefined {
  const info = details.find((detail) => detail["@type"].endsWith("google.rpc.ErrorInfo"));
  const written = info?.reason?.replaceAll("_", "").toLowerCase();
  return REASONS.find((reason) => reason.toLowerCase() === written);
}

/** The reason that a JSON-RPC code means. */
function reasonOfCode(code: number): ErrorReason | undefined {
  return REASONS.find((reason) => ERRORS[reason].code === code);
}

/** gRPC in 0.3 has only a status and a text, which starts with the name of the error. */
function reasonOfText(text: string): ErrorReason | undefined {
  return REASONS.find((reason) => text.startsWith(ERRORS[reason].title));
}

function violatedField(details: readonly ErrorDetail[]): string | undefined {
  return details.flatMap(({ fieldViolations = [] }) => fieldViolations)[0]?.field;
}

/** The error that a call ends with. */
export async function refusalOf(call: Promise<unknown>): Promise<Refusal> {
  try {
    const answer = await call;
    throw new Error(`This was not refused: ${JSON.stringify(answer)}`);
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown;
    throw thrown;
  }
}
