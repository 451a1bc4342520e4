import type { OperationName, PublicEvent } from "@convoke/protocol";
import type { FaultCall, FaultReply, FaultStep, GrpcReply } from "../fault-scenario.ts";
import { refuses, sends, shows } from "./answers.ts";
import { showsCard } from "./cards.ts";
import { GRPC_HEAD, GRPC_OK, grpcFrame, grpcShows, grpcStreams, methodOf } from "./grpc.ts";
import { streams } from "./streams.ts";
import { GREETED, GREETING, STORY, aTask, codecOf } from "./words.ts";

/** The task at the time when the first chunk of the greeting had been sent. */
const HALF_DONE = aTask("working", GREETING[0]);

const DONE = aTask(GREETED.state, GREETED.text);

/**
 * The correct response to a subscription: the missing events, or the task and the events that
 * follow.
 */
const subscribes: FaultReply = (call) => {
  const { events, from } = missing(call);
  return streams(events, from === undefined ? {} : { from })(call);
};

function missing({ headers }: FaultCall): {
  readonly events: readonly PublicEvent[];
  readonly from?: number;
} {
  const last = Number(headers["last-event-id"] ?? Number.NaN);
  if (Number.isNaN(last)) return { events: [HALF_DONE, ...STORY.slice(3)] };
  return { events: STORY.slice(last), from: last + 1 };
}

const HONEST: Readonly<Partial<Record<FaultStep, FaultReply>>> = {
  card: (call) =>
    call.path.endsWith("/agent-card.json") ? showsCard()(call) : refuses("MethodNotFound")(call),
  sendMessage: sends(DONE),
  sendStreamingMessage: streams(STORY),
  subscribeToTask: subscribes,
  getTask: shows(DONE),
  cancelTask: shows(aTask("canceled")),
};

/** The responses of a correct agent. */
export function honestReply(step: FaultStep): FaultReply {
  return HONEST[step] ?? refuses("UnsupportedOperation");
}

const HONEST_GRPC: Readonly<Partial<Record<OperationName, GrpcReply>>> = {
  sendMessage: (call) => {
    const message = codecOf(call.speaking).encodeSendResult(DONE);
    return [GRPC_HEAD, grpcFrame(methodOf(call, "sendMessage").encodeResponse(message)), GRPC_OK];
  },
  sendStreamingMessage: grpcStreams(STORY),
  subscribeToTask: grpcStreams([HALF_DONE, ...STORY.slice(3)]),
  getTask: grpcShows(DONE),
  cancelTask: grpcShows(aTask("canceled")),
};

/** The responses of a correct agent over gRPC. */
export function honestGrpcReply(step: OperationName): GrpcReply {
  return HONEST_GRPC[step] ?? grpcShows(DONE);
}
