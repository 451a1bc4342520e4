import type { PublicEvent, Task, TaskState } from "@convoke/protocol";
import { expect } from "vitest";
import type { ServedProcess } from "../start/convoke-process.ts";
import { DIALECTS, type Dialect } from "../wire/dialect.ts";
import { WireClient, valueOf } from "../wire/wire-client.ts";
import type { Frame, WireStream } from "../wire/wire-stream.ts";

export const [V03, V1] = DIALECTS as [Dialect, Dialect];

/** The end of the log of a task whose server died. */
export const INTERRUPTED = {
  kind: "status-update",
  status: { state: "failed" },
  metadata: { reason: "interrupted" },
};

/** Kills the server with SIGKILL, and returns what each stream had received until then. */
export async function killUnder(
  { program }: ServedProcess,
  streams: readonly WireStream[] = [],
): Promise<readonly (readonly Frame[])[]> {
  const { code } = await program.kill("SIGKILL");
  expect(code).toBeNull();
  return Promise.all(
    streams.map(async (stream) => {
      await expect(stream.all).rejects.toThrow();
      return stream.until(() => true);
    }),
  );
}

/** The whole log of a task, as a new reader gets it. */
export async function readLog(
  server: { readonly url: string },
  taskId: string,
  dialect: Dialect = V03,
): Promise<readonly Frame[]> {
  const stream = await new WireClient(server, dialect).subscribe(taskId, "0");
  return stream.all;
}

/** The last event of a log without a gap. */
export function lastOf(log: readonly Frame[], dialect: Dialect = V03): PublicEvent {
  // Numbers may be missing where the engine wrote internal events.
  const ids = idsOf(log);
  expect(ids[0]).toBe(1);
  expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
  return dialect.codec.decodeEvent(log.at(-1)?.body.result);
}

export function idsOf(frames: readonly Frame[]): readonly number[] {
  return frames.map(({ id }) => Number(id));
}

/** The task that a stream starts with. */
export function taskOf(frames: readonly Frame[], dialect: Dialect): Task {
  const first = dialect.codec.decodeEvent(frames[0]?.body.result);
  if (first.kind !== "task") throw new Error(`The stream begins with ${first.kind}.`);
  return first;
}

/** Every task that a server lists, page by page, with its state. */
export async function listAll(server: {
  readonly url: string;
}): Promise<ReadonlyMap<string, TaskState>> {
  const client = new WireClient(server, V1);
  const listed = new Map<string, TaskState>();
  for (let pageToken = ""; ;) {
    const params = { pageSize: 100, ...(pageToken !== "" && { pageToken }) };
    const page = V1.codec.decodeTaskPage(valueOf(await client.call("ListTasks", params)));
    for (const { id, status } of page.tasks) listed.set(id, status.state);
    if (page.nextPageToken === "") return listed;
    pageToken = page.nextPageToken;
  }
}
