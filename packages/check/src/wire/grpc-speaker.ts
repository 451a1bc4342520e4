import { GRPC_SERVICES, type GrpcMethod, decodeStatusDetails } from "@convoke/protocol/grpc";
import { Failed, Skipped } from "../verdict.ts";
import type { Answer, Call, Conversation, Opened, Refused, Speaker, StreamItem } from "./call.ts";
import { type GrpcEnd, grpcCall, statusName } from "./grpc-call.ts";
import { headersOf } from "./headers.ts";
import { readableRequest } from "./readable.ts";
import { withTenant } from "./tenant.ts";
import { type WireError, reasonInDetails } from "./wire-error.ts";

/** Speaks gRPC, by hand. The JSON of its calls is the ProtoJSON of what is sent. */
export class GrpcSpeaker implements Speaker {
  readonly binding = "grpc";
  readonly version;
  readonly #conversation: Conversation;

  constructor(conversation: Conversation) {
    this.#conversation = conversation;
    this.version = conversation.target.version;
  }

  async call(call: Call): Promise<Answer> {
    const method = this.#methodOf(call);
    const { messages, end } = await this.#whole(this.#send(method, call));
    const exchange = this.#heard(
      messages.map((bytes) => this.#read(method, bytes)),
      end,
    );
    if (end.status !== 0) return this.#refusal(end);
    if (messages.length !== 1) throw new Failed("one message and the status OK", exchange);
    const result = this.#read(method, messages[0] ?? new Uint8Array());
    return { kind: "served", result, body: result, headers: end.headers, exchange };
  }

  async open(call: Call): Promise<Opened | Refused> {
    const method = this.#methodOf(call);
    const frames = this.#send(method, call);
    const first = await frames.next();
    if (first.done === true && first.value.status !== 0) {
      this.#heard([], first.value);
      return this.#refusal(first.value);
    }
    return { kind: "opened", headers: {}, events: this.#items(method, first, frames) };
  }

  /** Sends any bytes to any method. */
  async raw(path: string, message: Uint8Array): Promise<GrpcEnd> {
    const metadata = headersOf(this.#conversation.target, {});
    this.#conversation.transcript.said(`gRPC ${path} with ${message.length} bytes`);
    const frames = grpcCall({ ...this.#conversation, path, metadata, message });
    const { end } = await this.#whole(frames);
    this.#heard([], end);
    return end;
  }

  #methodOf({ operation }: Call): GrpcMethod {
    const method = GRPC_SERVICES[this.version].methods.find((row) => row.operation === operation);
    if (method === undefined) throw new Skipped(`gRPC ${this.version} has no such operation`);
    return method;
  }

  #send(method: GrpcMethod, call: Call): AsyncGenerator<Uint8Array, GrpcEnd> {
    const { target, transcript } = this.#conversation;
    const params = withTenant(call.params, target.tenant);
    const metadata = headersOf(target, call);
    transcript.said(readableRequest(`gRPC ${method.path}`, metadata, JSON.stringify(params)));
    const message = method.encodeRequest(params);
    return grpcCall({ ...this.#conversation, path: method.path, metadata, message });
  }

  async #whole(frames: AsyncGenerator<Uint8Array, GrpcEnd>) {
    const messages: Uint8Array[] = [];
    for (;;) {
      const { done, value } = await frames.next();
      if (done === true) return { messages, end: value };
      messages.push(value);
    }
  }

  async *#items(
    method: GrpcMethod,
    first: IteratorResult<Uint8Array, GrpcEnd>,
    frames: AsyncGenerator<Uint8Array, GrpcEnd>,
  ): AsyncGenerator<StreamItem, void> {
    try {
      for (let step = first; ; step = await frames.next()) {
        if (step.done === true) {
          if (step.value.status === 0) return;
          const error = this.#errorOf(step.value);
          yield { json: undefined, envelope: statusName(step.value.status), error };
          return;
        }
        const json = this.#read(method, step.value);
        yield { json, envelope: json };
      }
    } finally {
      await frames.return({ status: 0, message: "", details: undefined, headers: {} });
    }
  }

  #read(method: GrpcMethod, bytes: Uint8Array): unknown {
    try {
      return method.decodeResponse(bytes);
    } catch {
      throw new Failed(`a message of the type that ${method.name} answers with`);
    }
  }

  #heard(messages: readonly unknown[], { status, message }: GrpcEnd) {
    const told = messages.map((json) => JSON.stringify(json)).join(" ");
    return this.#conversation.transcript.heard(`${statusName(status)} ${message} ${told}`);
  }

  #refusal(end: GrpcEnd): Refused {
    const exchange = this.#conversation.transcript.last;
    const error = this.#errorOf(end);
    return { kind: "refused", error, body: undefined, headers: end.headers, exchange };
  }

  #errorOf({ status, message, details }: GrpcEnd): WireError {
    const typed = detailsIn(details);
    const isAuth = status === 16 ? "Unauthenticated" : status === 7 ? "Forbidden" : undefined;
    return { message, grpc: status, reason: isAuth ?? reasonInDetails(typed), details: typed };
  }
}

/** Details that cannot be read are none; a probe of its own says so. */
function detailsIn(bytes: Uint8Array | undefined): readonly unknown[] {
  try {
    return bytes === undefined ? [] : decodeStatusDetails(bytes).details;
  } catch {
    return [];
  }
}
