import type { PushRecord } from "../log/push-store.ts";

/** What the operations on push configs ask of whoever delivers. */
export interface PushRules {
  /** How many configs a task may have. */
  readonly maxConfigs: number;
  /** Throws an error that says why nothing is pushed to the URL. */
  check(url: string): void;
  /** A config was created, or replaced. */
  changed(record: PushRecord): void;
  /** A config was deleted: nothing more is delivered for it. */
  deleted(taskId: string, id: string): void;
}
