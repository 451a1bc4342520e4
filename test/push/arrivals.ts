import type { LoggedEvent } from "../harness/task-log.ts";
import type { Arrival } from "./a-webhook.ts";

/** The tasks whose completion arrived. */
export function endedTasks(arrivals: readonly Arrival[]): ReadonlySet<string> {
  return new Set(arrivals.filter(isEnd).map(taskOf));
}

/** Which events of a task arrived, each once, in the order of their first arrival. */
export function placesOf(arrivals: readonly Arrival[], taskId: string): readonly number[] {
  const own = arrivals.filter((arrival) => taskOf(arrival) === taskId);
  const places = own.map(({ headers }) => Number(String(headers["webhook-id"]).split(".").at(-1)));
  return [...new Set(places)];
}

/** The events of a log that are pushed: each status, and the end of each artifact. */
export function placesWorthTelling(log: readonly LoggedEvent[]): readonly number[] {
  return log.flatMap(({ id, event }) => {
    const { kind, lastChunk } = event as { readonly kind: string; readonly lastChunk?: boolean };
    return kind === "status-update" || lastChunk === true ? [id] : [];
  });
}

function taskOf({ headers }: Arrival): string {
  return String(headers["webhook-id"]).split(".")[0] ?? "";
}

function isEnd({ body }: Arrival): boolean {
  return /"state":"(?:completed|TASK_STATE_COMPLETED)"/.test(body);
}
