import type { Backend, PushRecord, StoredEvent } from "@convoke/engine";

export interface TaskContent {
  readonly stored: Awaited<ReturnType<Backend["tasks"]["get"]>>;
  readonly log: readonly StoredEvent[];
  readonly pushes: readonly PushRecord[];
}

/** What a storage has about each task, newest first: the same in a folder and in a database. */
export async function contentOf(backend: Backend): Promise<readonly TaskContent[]> {
  const contents: TaskContent[] = [];
  for (const { taskId } of await backend.tasks.newest({ limit: 10_000 })) {
    const log: StoredEvent[] = [];
    for (let more = true; more;) {
      const page = await backend.read(taskId, log.at(-1)?.seq ?? 0, 1000);
      // Only a database stores the epochs of events.
      log.push(
        ...page.map(({ seq, json, at }) => ({ seq, json, ...(at !== undefined && { at }) })),
      );
      more = page.length > 0;
    }
    const stored = await backend.tasks.get(taskId);
    contents.push({ stored, log, pushes: await backend.pushes.ofTask(taskId) });
  }
  return contents;
}
