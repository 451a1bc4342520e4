import { PROTO_CODECS, type ProtocolVersion } from "@convoke/protocol";
import { GRPC_SERVICES, decodeStatusDetails } from "@convoke/protocol/grpc";
import { type GrpcEnd, grpcCall } from "./grpc-call.ts";
import { type ErrorDetail, Refusal, reasonInDetails, reasonOfText } from "./refusal.ts";
import { Speaker } from "./speaker.ts";
import {
  type Call,
  type Peer,
  type Transport,
  type WireEvent,
  versionHeaders,
} from "./transport.ts";

/** Speaks gRPC. */
export function grpcSpeaker(server: Peer, version: ProtocolVersion): Speaker {
  return new Speaker(new GrpcTransport(server, version), PROTO_CODECS[version]);
}

/** Where an event has its cursor, in its metadata. */
const CURSOR = "last-event-id";

class GrpcTransport implements Transport {
  readonly binding = "grpc";
  readonly version: ProtocolVersion;
  readonly #server: Peer;

  constructor(server: Peer, version: ProtocolVersion) {
    this.#server = server;
    this.version = version;
  }

  async call(call: Call): Promise<unknown> {
    const messages: unknown[] = [];
    for await (const message of this.#messages(call)) messages.push(message);
    if (messages.length !== 1) throw new Error(`The answer has ${messages.length} messages`);
    return messages[0];
  }

  async *open(call: Call): AsyncGenerator<WireEvent, void> {
    for await (const json of this.#messages(call)) yield eventOf(json);
  }

  /** The messages of an answer as JSON; one that does not end well throws. */
  async *#messages({ operation, params, headers, onAnswer }: Call): AsyncGenerator<unknown, void> {
    const { methods } = GRPC_SERVICES[this.version];
    const method = methods.find((candidate) => candidate.operation === operation);
    if (method === undefined) throw new Error(`gRPC ${this.version} has no ${operation}`);
    const messages = grpcCall({
      server: this.#server,
      path: method.path,
      metadata: { ...versionHeaders(this.version), ...headers },
      message: method.encodeRequest(params),
      onAnswer,
    });
    try {
      for (;;) {
        const { done, value } = await messages.next();
        if (done === true) return throwUnlessOk(value);
        yield method.decodeResponse(value);
      }
    } finally {
      await messages.return({ status: 0, message: "", details: undefined });
    }
  }
}

/** An event without its cursor, which is no part of it. */
function eventOf(json: unknown): WireEvent {
  const [[kind, event] = ["", {}]] = Object.entries(json as Readonly<Record<string, Cursored>>);
  const { metadata, ...rest } = event;
  const { [CURSOR]: id, ...others } = metadata ?? {};
  const kept = Object.keys(others).length === 0 ? rest : { ...rest, metadata: others };
  return { id: typeof id === "string" ? id : "", json: { [kind]: kept } };
}

interface Cursored {
  readonly metadata?: Readonly<Record<string, unknown>>;
}

function throwUnlessOk({ status, message, details }: GrpcEnd): void {
  if (status === 0) return;
  if (details === undefined) {
    throw new Refusal({ grpc: status, message, reason: reasonOfText(message) });
  }
  const told = decodeStatusDetails(details);
  const typed = told.details as readonly ErrorDetail[];
  throw new Refusal({ grpc: status, message, details: typed, reason: reasonInDetails(typed) });
}
