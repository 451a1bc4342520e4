import type { TaskState } from "@convoke/protocol";
import { ask } from "../server/session.ts";
import { type TaskRow, listTasks } from "../server/task-list.ts";

/** An approval that waits for a decision. */
export interface WaitingApproval {
  readonly id: string;
  readonly taskId: string;
  readonly title: string;
  readonly risk?: string;
  readonly createdAt: string;
}

/** Some tasks, and how many there are. */
export interface Group {
  readonly states: readonly TaskState[];
  readonly rows: readonly TaskRow[];
  /** Such as "3", or "20+" if there are more than were read. */
  readonly count: string;
}

/** What the home page shows. */
export interface Overview {
  readonly running: Group;
  readonly waiting: Group;
  readonly failed: Group;
  readonly completed: Group;
  readonly approvals: readonly WaitingApproval[];
}

/** More tasks of a state are not counted: the list of tasks has them. */
const COUNTED = 20;

export async function loadOverview(): Promise<Overview> {
  const [running, waiting, failed, completed, { approvals }] = await Promise.all([
    loadGroup(["working", "submitted"]),
    loadGroup(["input-required", "auth-required"]),
    loadGroup(["failed", "rejected"]),
    loadGroup(["completed"]),
    ask<{ readonly approvals: readonly WaitingApproval[] }>("/convoke/approvals?agent=*"),
  ]);
  return { running, waiting, failed, completed, approvals };
}

async function loadGroup(states: readonly TaskState[]): Promise<Group> {
  const pages = await Promise.all(states.map((status) => listTasks({ status }, { size: COUNTED })));
  const rows = pages
    .flatMap(({ tasks }) => tasks)
    .toSorted((one, other) => (one.status.timestamp < other.status.timestamp ? 1 : -1));
  const isAll = pages.every(({ nextPageToken = "" }) => nextPageToken === "");
  return { states, rows, count: isAll ? String(rows.length) : `${rows.length}+` };
}
