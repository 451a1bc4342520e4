import type { Backend, TaskIndex, TaskRecord } from "@convoke/engine";
import { Ledger } from "./ledger.ts";

/** A backend that records all its calls. */
export interface CountedBackend extends Backend {
  readonly ledger: Ledger;
}

export function countBackend(backend: Backend): CountedBackend {
  const ledger = new Ledger();
  return {
    ledger,
    tasks: countIndex(backend.tasks, ledger),
    pushes: backend.pushes,
    retention: backend.retention,
    commit: (step) => {
      const { events, snapshot } = step;
      ledger.note({
        commits: 1,
        events: events.length,
        eventBytes: bytesOf(events),
        snapshotBytes: snapshot === undefined ? 0 : bytesOf([snapshot.json]),
      });
      return backend.commit(step);
    },
    read: async (taskId, after, limit) => {
      const page = await backend.read(taskId, after, limit);
      const eventBytesRead = bytesOf(page.map(({ json }) => json));
      ledger.note({ reads: 1, eventsRead: page.length, eventBytesRead });
      return page;
    },
    watch: (taskId, wake) => backend.watch(taskId, wake),
    close: () => backend.close(),
  };
}

function countIndex(tasks: TaskIndex, ledger: Ledger): TaskIndex {
  const counted = (records: readonly TaskRecord[]): void =>
    ledger.note({ lookups: 1, recordsRead: records.length });
  const asked = async (answer: Promise<readonly TaskRecord[]>): Promise<readonly TaskRecord[]> => {
    const records = await answer;
    counted(records);
    return records;
  };
  return {
    get: async (taskId) => {
      const stored = await tasks.get(taskId);
      counted(stored === undefined ? [] : [stored]);
      ledger.note({ snapshotBytesRead: bytesOf(stored?.snapshot ? [stored.snapshot.json] : []) });
      return stored;
    },
    record: async (taskId) => {
      const record = await tasks.record(taskId);
      counted(record === undefined ? [] : [record]);
      return record;
    },
    list: async (query) => {
      const page = await tasks.list(query);
      counted(page.records);
      return page;
    },
    ofContext: (query) => asked(tasks.ofContext(query)),
    changedSince: (query) => asked(tasks.changedSince(query)),
    unfinished: (after, limit) => asked(tasks.unfinished(after, limit)),
    newest: (query) => asked(tasks.newest(query)),
    waking: (limit, after) => asked(tasks.waking(limit, after)),
  };
}

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
}
