import { expect } from "vitest";
import type { Backend, CommitStep, Seq } from "../../log/backend.ts";
import type { ClaimedTask, Sharing } from "../../log/sharing.ts";
import { aCreation } from "../backend-contract/fixtures.ts";

/** A backend on a storage that several processes share. */
export interface SharingBackend extends Backend {
  readonly sharing: Sharing;
}

/** A storage that is empty at first, and the backends on it. */
export interface SharedStorage {
  /** Opens another backend, as another process would, on a host with this id. Default "test". */
  open(host?: string): Promise<SharingBackend>;
  /**
   * Ends the lease of a backend, as if its process had stopped. The backend can still be used, like a
   * process that continues after a long pause.
   */
  expire(backend: SharingBackend): Promise<void>;
  /** Loses the events of a task after a sequence, which is the end of a commit, as a failover can. */
  loseAfter(taskId: string, seq: Seq): Promise<void>;
  /** Closes all backends. */
  close(): Promise<void>;
}

export type OpenStorage = () => Promise<SharedStorage>;

/** A test body with a storage and three backends on it, which are closed when the test ends. */
export function sharing(
  open: OpenStorage,
  body: (
    backends: {
      readonly a: SharingBackend;
      readonly b: SharingBackend;
      readonly c: SharingBackend;
    },
    storage: SharedStorage,
  ) => Promise<void>,
) {
  return async (): Promise<void> => {
    const storage = await open();
    try {
      const [a, b, c] = [await storage.open(), await storage.open(), await storage.open()];
      await body({ a, b, c }, storage);
    } finally {
      await storage.close();
    }
  };
}

export const AGENT = "greeter";

/** The first step of a task that the process works on. */
export function aRun(taskId: string, overrides: Partial<CommitStep> = {}): CommitStep {
  const step = { state: "working", running: true, ...overrides } as const;
  return aCreation(taskId, step, { agentId: AGENT });
}

/** Claims everything that can be claimed. */
export async function claimAll(
  { sharing: ours }: SharingBackend,
  { dueAt = 0, limit = 100 } = {},
): Promise<readonly ClaimedTask[]> {
  return ours.claim({ agentIds: [AGENT], dueAt, limit });
}

export function idsOf(tasks: readonly ClaimedTask[]): readonly string[] {
  return tasks.map(({ taskId }) => taskId).toSorted();
}

/** Long enough for a process that hears nothing and looks by itself, on a busy machine. */
const EVENTUALLY = { timeout: 20_000, interval: 20 };

/** Waits until the values are these. */
export async function eventually(values: () => unknown, wanted: unknown): Promise<void> {
  await expect.poll(values, EVENTUALLY).toEqual(wanted);
}
