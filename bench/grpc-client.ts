import { type ClientHttp2Session, connect } from "node:http2";
import { PROTO_CODECS, userMessage } from "@convoke/protocol";
import { GRPC_SERVICES, type GrpcMethod } from "@convoke/protocol/grpc";
import { type Order, orderText } from "./targets/order.ts";

let messages = 0;

/**
 * Calls a target via gRPC 1.0 over one connection. Nothing is decoded while the server is measured.
 */
export class GrpcClient {
  readonly #session: ClientHttp2Session;

  constructor(url: string) {
    this.#session = connect(url);
  }

  send(order: Order): Promise<number> {
    return this.#call(methodOf("sendMessage"), order);
  }

  stream(order: Order): Promise<number> {
    return this.#call(methodOf("sendStreamingMessage"), order);
  }

  close(): void {
    this.#session.destroy();
  }

  /** The number of messages received. */
  #call(method: GrpcMethod, order: Order): Promise<number> {
    const message = userMessage(`g${++messages}-${process.pid}`, orderText(order));
    const request = PROTO_CODECS["1.0"].encodeSendMessage({ message, blocking: true });
    const bytes = method.encodeRequest(request);
    const frame = Buffer.alloc(5 + bytes.length);
    frame.writeUInt32BE(bytes.length, 1);
    frame.set(bytes, 5);
    return new Promise((resolve, reject) => {
      const headers = { ":method": "POST", ":path": method.path, te: "trailers" };
      const stream = this.#session.request({ ...headers, "content-type": "application/grpc" });
      const pieces: Buffer[] = [];
      stream.on("data", (piece: Buffer) => pieces.push(piece));
      stream.on("trailers", (trailers) => {
        if (trailers["grpc-status"] !== "0") reject(new Error(`status ${trailers["grpc-status"]}`));
      });
      stream.on("error", reject);
      stream.on("close", () => resolve(framesIn(Buffer.concat(pieces))));
      stream.end(frame);
    });
  }
}

function methodOf(operation: GrpcMethod["operation"]): GrpcMethod {
  return GRPC_SERVICES["1.0"].methods.find((method) => method.operation === operation)!;
}

function framesIn(bytes: Buffer): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at += 5 + bytes.readUInt32BE(at + 1)) count++;
  return count;
}
