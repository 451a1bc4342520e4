/** A raw response of the server. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** The body of a JSON-RPC response. */
export interface RpcBody {
  readonly jsonrpc: "2.0";
  readonly id: unknown;
  readonly result?: unknown;
  readonly error?: RpcError;
}

interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export type RequestHeaders = Readonly<Record<string, string>>;

/** Sends any body as a JSON-RPC request. */
export async function post(
  url: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: RequestHeaders = {},
): Promise<Answer> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

/** The text of a request with the id 1. */
export function rpcText(method: string, params: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
}

/** The JSON-RPC body of a response, also of a stream with a single frame. */
export function bodyOf({ text }: Answer): RpcBody {
  const [, frame = text] = /^data: (.*)\n\n$/.exec(text) ?? [];
  return JSON.parse(frame) as RpcBody;
}

/** The fields of an error, independent of the version. */
interface Fault {
  readonly code: number;
  readonly message: string;
  /** The invalid field. */
  readonly field: string | undefined;
  /** Machine-readable details. */
  readonly details: Readonly<Record<string, unknown>>;
}

interface ErrorDetail {
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly fieldViolations?: readonly { readonly field: string }[];
}

/** The error of a response. 0.3 has its details in one object, 1.0 in a list of typed ones. */
export function faultOf(answer: Answer): Fault {
  const { error } = bodyOf(answer);
  if (error === undefined) throw new Error(`This is no error: ${answer.text}`);
  const { code, message, data } = error;
  if (Array.isArray(data)) {
    const [info, badRequest] = data as readonly ErrorDetail[];
    const field = badRequest?.fieldViolations?.[0]?.field;
    return { code, message, field, details: info?.metadata ?? {} };
  }
  const details = (data ?? {}) as Readonly<Record<string, unknown>>;
  return { code, message, field: details["field"] as string | undefined, details };
}
