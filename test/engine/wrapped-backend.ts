import type { Backend, CommitResult, CommitStep } from "@convoke/engine";

/** A backend whose commits a test can hold back or fail. */
export interface WrappedBackend extends Backend {
  /** Commits wait until `release`. */
  hold(): void;
  release(): void;
  /** The next `count` commits fail like those of a broken disk. */
  failNext(count: number): void;
  /** The next `count` reads of a log fail. */
  failNextReads(count: number): void;
  /** The next `count` reads of a conversation fail. */
  failNextConversations(count: number): void;
  /** The next commit is stored and then fails, so its caller cannot know that it was stored. */
  loseNextAnswer(): void;
  /** Every step submitted so far, committed or not. */
  readonly steps: readonly CommitStep[];
}

export function wrapBackend(backend: Backend): WrappedBackend {
  const steps: CommitStep[] = [];
  let gate = Promise.resolve();
  let open = (): void => undefined;
  let failures = 0;
  let failingReads = 0;
  let failingConversations = 0;
  let losesAnswer = false;
  const { tasks } = backend;
  return {
    steps,
    pushes: backend.pushes,
    retention: backend.retention,
    ...(backend.blobs && { blobs: backend.blobs }),
    tasks: {
      get: (taskId) => tasks.get(taskId),
      record: (taskId) => tasks.record(taskId),
      list: (query) => tasks.list(query),
      changedSince: (query) => tasks.changedSince(query),
      unfinished: (after, limit) => tasks.unfinished(after, limit),
      newest: (query) => tasks.newest(query),
      waking: (limit, after) => tasks.waking(limit, after),
      ofContext: async (query) => {
        if (failingConversations-- > 0) throw new Error("disk I/O error");
        return tasks.ofContext(query);
      },
    },
    read: async (taskId, after, limit) => {
      if (failingReads-- > 0) throw new Error("disk I/O error");
      return backend.read(taskId, after, limit);
    },
    watch: (taskId, wake) => backend.watch(taskId, wake),
    close: () => backend.close(),
    commit: async (step): Promise<CommitResult> => {
      steps.push(step);
      await gate;
      if (failures-- > 0) throw new Error("disk I/O error");
      const committed = await backend.commit(step);
      if (!losesAnswer) return committed;
      losesAnswer = false;
      throw new Error("the answer was lost");
    },
    hold: () => {
      gate = new Promise((resolve) => {
        open = resolve;
      });
    },
    release: () => open(),
    failNext: (count) => {
      failures = count;
    },
    failNextReads: (count) => {
      failingReads = count;
    },
    failNextConversations: (count) => {
      failingConversations = count;
    },
    loseNextAnswer: () => {
      losesAnswer = true;
    },
  };
}
