import type { TaskState } from "@convoke/protocol";
import { V1 } from "./logs.ts";
import { WireClient, valueOf } from "../wire/wire-client.ts";

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
