import { CODECS, OPERATIONS, type ProtocolVersion } from "@convoke/protocol";
import { type ErrorDetail, Refusal, reasonInDetails, reasonOfCode } from "./refusal.ts";
import { Speaker } from "./speaker.ts";
import { isSse, sseEvents } from "./sse-events.ts";
import {
  type Call,
  type Peer,
  type Transport,
  type WireEvent,
  versionHeaders,
} from "./transport.ts";

/** Speaks JSON-RPC over HTTP. */
export function jsonRpcSpeaker(server: Peer, version: ProtocolVersion): Speaker {
  return new Speaker(new JsonRpcTransport(server, version), CODECS[version]);
}

interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: readonly ErrorDetail[] | { readonly field?: string };
}

interface RpcBody {
  readonly jsonrpc: string;
  readonly id: unknown;
  readonly result?: unknown;
  readonly error?: RpcError;
}

class JsonRpcTransport implements Transport {
  readonly binding = "jsonrpc";
  readonly version: ProtocolVersion;
  readonly #server: Peer;
  #ids = 0;

  constructor(server: Peer, version: ProtocolVersion) {
    this.#server = server;
    this.version = version;
  }

  async call(call: Call): Promise<unknown> {
    const id = ++this.#ids;
    const answer = await this.#post(call, id);
    return resultOf((await answer.json()) as RpcBody, id, answer.status);
  }

  async *open(call: Call): AsyncGenerator<WireEvent, void> {
    const id = ++this.#ids;
    const answer = await this.#post(call, id);
    if (!isSse(answer)) {
      resultOf((await answer.json()) as RpcBody, id, answer.status);
      throw new Error("The answer is no stream");
    }
    for await (const { id: cursor, data } of sseEvents(answer)) {
      yield { id: cursor, json: resultOf(JSON.parse(data) as RpcBody, id, answer.status) };
    }
  }

  async #post({ operation, params, headers, onAnswer }: Call, id: number): Promise<Response> {
    const { method, methods03 } = OPERATIONS[operation];
    const spelled = this.version === "1.0" ? method : methods03[0];
    const answer = await fetch(this.#server.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...versionHeaders(this.version),
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id, method: spelled, params }),
    });
    onAnswer?.(Object.fromEntries(answer.headers));
    return answer;
  }
}

/** The codes of a body that could not be read, so that its id is not known. */
const UNREAD: readonly unknown[] = [-32700, -32600];

/**
 * The result of an answer to that request, which has either a result or an error. Who refuses
 * before reading the body, by the status or as unreadable, does not know the id.
 */
function resultOf(body: RpcBody, id: number, http: number): unknown {
  const isOne = Object.hasOwn(body, "result") !== Object.hasOwn(body, "error");
  const isUnread = http !== 200 || UNREAD.includes(body.error?.code);
  const isMine = body.id === (isUnread ? null : id);
  if (body.jsonrpc !== "2.0" || !isMine || !isOne) {
    throw new Error(`This is no answer to request ${id}: ${JSON.stringify(body)}`);
  }
  if (body.error === undefined) return body.result;
  const { code, message, data } = body.error;
  throw Array.isArray(data)
    ? new Refusal({ code, message, http, reason: reasonInDetails(data), details: data })
    : new Refusal({ code, message, http, reason: reasonOfCode(code), field: fieldOf(data) });
}

function fieldOf(data: RpcError["data"]): string | undefined {
  return (data as { readonly field?: string } | undefined)?.field;
}
