import type { TaskState } from "@convoke/protocol";
import { about } from "./about.ts";
import { ask } from "./session.ts";
import type { TaskUsage } from "./task-list.ts";
import { scope } from "./task-log.ts";

/** A task in a call tree. */
export interface TreeNode {
  readonly taskId: string;
  readonly contextId: string;
  readonly parentId?: string;
  readonly depth: number;
  /** The name of the agent in the definition of the calling one. */
  readonly calledAs?: string;
  readonly agent?: string;
  readonly agentId?: string;
  readonly state?: TaskState;
  readonly where: "here" | "remote" | "unknown";
  readonly address?: string;
  /** Why it could not be read. */
  readonly problem?: string;
  /** What it waits for. */
  readonly question?: string;
  readonly createdAt?: string;
  readonly endedAt?: string;
  readonly usage?: TaskUsage;
}

export interface CallTree {
  readonly rootId: string;
  readonly nodes: readonly TreeNode[];
  readonly truncated: boolean;
}

/** Reads the call tree that a task belongs to. */
export function readTree(taskId: string, signal: AbortSignal): Promise<CallTree> {
  return ask(`/convoke/tasks/${encodeURIComponent(taskId)}/tree?${scope()}`, { signal });
}

/** Whether the task has a page here. Agents inside of another agent keep their tasks to themselves. */
export function hasPage({ where, agentId }: TreeNode): boolean {
  return where === "here" && (about.value?.agents ?? []).some(({ id }) => id === agentId);
}
