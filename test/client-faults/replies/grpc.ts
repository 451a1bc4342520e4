import { type OperationName, type PublicEvent, type Task } from "@convoke/protocol";
import { GRPC_SERVICES, type GrpcMethod } from "@convoke/protocol/grpc";
import type { FaultCall, GrpcReply } from "../fault-scenario.ts";
import type { GrpcMove } from "../wire/grpc-move.ts";
import { codecOf } from "./words.ts";

export const GRPC_HEAD: GrpcMove = {
  kind: "head",
  headers: { ":status": 200, "content-type": "application/grpc" },
};

export const GRPC_OK: GrpcMove = { kind: "trailers", trailers: { "grpc-status": "0" } };

/** A flag and a length, followed by the message. */
export function grpcFrame(message: Uint8Array, flag = 0, length = message.length): GrpcMove {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flag, 0);
  prefix.writeUInt32BE(length, 1);
  return { kind: "bytes", bytes: Buffer.concat([prefix, message]) };
}

/** An encoded task, which is the response to getting and canceling. */
export function taskBytes(call: FaultCall, task: Task): Uint8Array {
  return methodOf(call, "getTask").encodeResponse(codecOf(call.speaking).encodeTask(task));
}

function eventFrame(call: FaultCall, event: PublicEvent): GrpcMove {
  const method = methodOf(call, "sendStreamingMessage");
  return grpcFrame(method.encodeResponse(codecOf(call.speaking).encodeEvent(event)));
}

/** The events as gRPC messages, and what is sent instead of the regular end. */
export function grpcStreams(
  events: readonly PublicEvent[],
  ending: readonly GrpcMove[] = [GRPC_OK],
): GrpcReply {
  return (call) => [GRPC_HEAD, ...events.map((event) => eventFrame(call, event)), ...ending];
}

export function grpcShows(task: Task): GrpcReply {
  return (call) => [GRPC_HEAD, grpcFrame(taskBytes(call, task)), GRPC_OK];
}

/** An error without a message: headers that are also trailers (Trailers-Only). */
export function grpcRefuses(headers: Readonly<Record<string, string>>): GrpcReply {
  return () => [
    {
      kind: "head",
      headers: { ":status": 200, "content-type": "application/grpc", ...headers },
      isAll: true,
    },
  ];
}

export function methodOf({ speaking }: FaultCall, operation: OperationName): GrpcMethod {
  const { methods } = GRPC_SERVICES[speaking.version];
  const found = methods.find((method) => method.operation === operation);
  if (found === undefined) throw new TypeError(`A2A ${speaking.version} has no ${operation}`);
  return found;
}
