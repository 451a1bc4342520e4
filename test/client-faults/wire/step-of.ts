import { OPERATIONS, type OperationName, findMethod } from "@convoke/protocol";
import type { FaultStep } from "../fault-scenario.ts";

export interface Asked {
  readonly step: FaultStep;
  readonly id: unknown;
}

/** The operation of an HTTP request, in either version and binding. */
export function stepOf(method: string, path: string, body: string): Asked {
  if (method === "POST" && body.startsWith("{") && !path.includes(":")) return rpcStepOf(body);
  const name = path.replace(/\?.*$/, "");
  const [, step] = REST.find(([pattern]) => pattern.test(`${method} ${name}`)) ?? [];
  return { step: step ?? "card", id: undefined };
}

function rpcStepOf(body: string): Asked {
  const { method, id } = JSON.parse(body) as { readonly method?: string; readonly id?: unknown };
  return { step: findMethod(method ?? "")?.operation ?? "sendMessage", id };
}

const REST: readonly (readonly [RegExp, OperationName])[] = [
  [/^POST .*\/message:send$/, "sendMessage"],
  [/^POST .*\/message:stream$/, "sendStreamingMessage"],
  [/^(?:POST|GET) .*\/tasks\/[^/]+:subscribe$/, "subscribeToTask"],
  [/^POST .*\/tasks\/[^/]+:cancel$/, "cancelTask"],
  [/^GET .*\/tasks\/[^/]+$/, "getTask"],
  [/^GET .*\/tasks$/, "listTasks"],
];

/** The operation of a gRPC path. */
export function grpcStepOf(path: string): OperationName {
  const name = path.slice(path.lastIndexOf("/") + 1);
  // 0.3 has another name for subscribing.
  if (name === "TaskSubscription") return "subscribeToTask";
  const found = (Object.keys(OPERATIONS) as OperationName[]).find(
    (operation) => OPERATIONS[operation].method === name,
  );
  return found ?? "sendMessage";
}
