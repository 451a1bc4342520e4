import { ERRORS, type ErrorReason, type Message, type Task } from "@convoke/protocol";
import type { FaultCall, FaultReply } from "../fault-scenario.ts";
import { type WholeOptions, whole } from "./http.ts";
import { codecOf } from "./words.ts";

/** A result in the envelope of the binding. */
export function wrapped(call: FaultCall, result: unknown): unknown {
  return call.speaking.binding === "JSONRPC" ? { jsonrpc: "2.0", id: call.id, result } : result;
}

/** Answers with any value in the envelope of the binding. */
export function answers(result: unknown, options?: WholeOptions): FaultReply {
  return (call) => whole(JSON.stringify(wrapped(call, result)), options);
}

/** Answers with a message. */
export function sends(answer: Task | Message): FaultReply {
  return (call) => answers(codecOf(call.speaking).encodeSendResult(answer))(call);
}

/** Answers with the task itself. */
export function shows(task: Task): FaultReply {
  return (call) => answers(codecOf(call.speaking).encodeTask(task))(call);
}

/** Answers with an error in the format of the version and binding. */
export function refuses(reason: ErrorReason, message: string = ERRORS[reason].title): FaultReply {
  return (call) => {
    const { binding } = call.speaking;
    const status = binding === "JSONRPC" ? 200 : ERRORS[reason].http;
    return whole(JSON.stringify(refusal(call, reason, message)), { status });
  };
}

/**
 * The body of an error: a JSON-RPC error, a bare error on 0.3 REST, a google.rpc.Status on 1.0
 * REST.
 */
export function refusal(call: FaultCall, reason: ErrorReason, message: string): object {
  const { code, http, grpc } = ERRORS[reason];
  const { binding, version } = call.speaking;
  const details = [
    {
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason: reason.replaceAll(/(?<!^)(?=[A-Z])/g, "_").toUpperCase(),
      domain: "a2a-protocol.org",
    },
  ];
  if (binding !== "JSONRPC") {
    if (version === "0.3") return { code, message };
    return { error: { code: http, status: grpc, message, details } };
  }
  const data = version === "1.0" ? { data: details } : {};
  return { jsonrpc: "2.0", id: call.id ?? null, error: { code, message, ...data } };
}
