import type { WireHeaders } from "@convoke/check/wire";
import type { OperationName } from "@convoke/protocol";
import { fellIf } from "../attack.ts";
import type { Target } from "../target.ts";
import {
  Caller,
  TASK_OPERATIONS,
  UNKNOWN_ID,
  callersOf,
  hasOperation,
  isUnauthorized,
} from "./a2a.ts";

/** Rejected credentials on the given operations of every interface, and on the routes of the server itself. */
export async function rejectedEverywhere(
  target: Target,
  headers: WireHeaders,
  operations: readonly OperationName[] = ["getTask"],
): Promise<void> {
  callersOf(target);
  const calls = target.interfaces.flatMap((at) =>
    operations
      .filter((operation) => hasOperation(at, operation))
      .map(async (operation) => {
        const caller = new Caller(at, headers);
        const params = TASK_OPERATIONS[operation]?.(caller.codec, UNKNOWN_ID) ?? {};
        const answer = await caller.call(operation, params);
        const where = `${operation} over ${at.binding} ${at.version}`;
        fellIf(!isUnauthorized(answer), `${where} answered ${answer.text.slice(0, 120)}`);
      }),
  );
  const routes = (target.ownRoutes ?? []).map(async ({ method, path }) => {
    const url = new URL(path, target.url);
    const json = { "content-type": "application/json" };
    const response = await fetch(url, {
      method,
      headers: { ...headers, ...(method === "POST" && json) },
      ...(method === "POST" && { body: "{}" }),
    });
    await response.body?.cancel();
    fellIf(![401, 403].includes(response.status), `${method} ${path} answered ${response.status}`);
  });
  await Promise.all([...calls, ...routes]);
}
