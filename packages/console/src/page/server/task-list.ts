import type { TaskState } from "@convoke/protocol";
import type { TaskFilters } from "../navigation/route.ts";
import { findAgent } from "./about.ts";
import { ask } from "./session.ts";

/** A task in a list. */
export interface TaskRow {
  readonly id: string;
  readonly contextId: string;
  readonly owner?: string;
  readonly tenant?: string;
  /** The name of the agent. */
  readonly agent: string;
  readonly agentId?: string;
  readonly status: { readonly state: TaskState; readonly timestamp: string };
  readonly createdAt: string;
  /** The number of events in its log. */
  readonly head: number;
  readonly firstWords?: string;
  readonly usage?: TaskUsage;
}

export interface TaskUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly costUsd?: number;
  readonly durationMs?: number;
}

export interface TaskPage {
  readonly tasks: readonly TaskRow[];
  readonly nextPageToken?: string;
}

/** Lists tasks of one agent or of all, the most recently changed first. */
export function listTasks(
  { agent, ...filters }: TaskFilters,
  page: { readonly size?: number; readonly token?: string | undefined } = {},
  signal?: AbortSignal,
): Promise<TaskPage> {
  const query = new URLSearchParams(agent === undefined ? { agent: "*" } : {});
  for (const [name, value] of Object.entries(filters)) if (value) query.set(name, value);
  if (page.size !== undefined) query.set("pageSize", String(page.size));
  if (page.token !== undefined) query.set("pageToken", page.token);
  const path = agent === undefined ? "" : (findAgent(agent)?.path ?? `/agents/${agent}`);
  return ask(`${path}/convoke/tasks?${query}`, { signal });
}
