import { PROTO_CODECS, type ProtocolVersion } from "@convoke/protocol";
import { type ErrorDetail, Refusal, reasonInDetails, reasonOfCode } from "./refusal.ts";
import { placeV03, placeV1 } from "./rest-place.ts";
import { Speaker } from "./speaker.ts";
import { isSse, sseEvents } from "./sse-events.ts";
import {
  type Call,
  type Peer,
  type Transport,
  type WireEvent,
  versionHeaders,
} from "./transport.ts";

/** Speaks REST, in ProtoJSON. */
export function restSpeaker(server: Peer, version: ProtocolVersion): Speaker {
  return new Speaker(new RestTransport(server, version), PROTO_CODECS[version]);
}

class RestTransport implements Transport {
  readonly binding = "rest";
  readonly version: ProtocolVersion;
  readonly #server: Peer;

  constructor(server: Peer, version: ProtocolVersion) {
    this.#server = server;
    this.version = version;
  }

  async call(call: Call): Promise<unknown> {
    const answer = await this.#fetch(call);
    const text = await answer.text();
    if (!answer.ok) throw this.#refusal(answer.status, text);
    return text === "" ? {} : JSON.parse(text);
  }

  async *open(call: Call): AsyncGenerator<WireEvent, void> {
    const answer = await this.#fetch(call);
    if (!answer.ok) throw this.#refusal(answer.status, await answer.text());
    if (!isSse(answer)) throw new Error(`The answer is no stream: ${await answer.text()}`);
    for await (const { id, event, data } of sseEvents(answer)) {
      if (event === "error") throw this.#refusal(answer.status, data);
      yield { id, json: JSON.parse(data) };
    }
  }

  async #fetch({ operation, params, headers, onAnswer }: Call): Promise<Response> {
    const placeOf = this.version === "1.0" ? placeV1 : placeV03;
    const { method, path, query = {}, body } = placeOf(operation, params);
    const url = new URL(path, this.#server.url);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
    const type = this.version === "1.0" ? "application/a2a+json" : "application/json";
    const answer = await fetch(url, {
      method,
      headers: {
        ...(body && { "content-type": type }),
        ...versionHeaders(this.version),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    onAnswer?.(Object.fromEntries(answer.headers));
    return answer;
  }

  /** A google.rpc.Status in 1.0 (§11.6), the error of JSON-RPC without its envelope in 0.3. */
  #refusal(http: number, text: string): Refusal {
    const body = JSON.parse(text) as RestError;
    if (this.version === "1.0" && "error" in body) {
      const { message, status, details } = body.error;
      return new Refusal({ http, status, message, details, reason: reasonInDetails(details) });
    }
    const { code, message, data } = body as V03Error;
    return new Refusal({ http, code, message, reason: reasonOfCode(code), field: data?.field });
  }
}

interface V03Error {
  readonly code: number;
  readonly message: string;
  readonly data?: { readonly field?: string };
}

interface V1Error {
  readonly error: {
    readonly code: number;
    readonly status: string;
    readonly message: string;
    readonly details: readonly ErrorDetail[];
  };
}

type RestError = V03Error | V1Error;
