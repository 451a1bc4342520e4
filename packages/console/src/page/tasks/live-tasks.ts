import { isTerminal } from "@convoke/protocol";
import { useEffect, useRef, useState } from "preact/hooks";
import type { TaskFilters } from "../navigation/route.ts";
import { type TaskChange, onTaskChange } from "../server/feed.ts";
import { type Resource, useResource } from "../server/resource.ts";
import { type TaskRow, listTasks } from "../server/task-list.ts";

const PAGE_SIZE = 50;

/** Many tasks may change at once. */
const REFRESH_MS = 400;

/** A list that stays as it is while tasks change, so that nothing moves under the pointer. */
export interface LiveTasks {
  readonly rows: readonly TaskRow[];
  readonly status: Resource<unknown>["status"];
  readonly problem: Error | undefined;
  /** How many tasks are not in the list yet. */
  readonly newCount: number;
  readonly hasMore: boolean;
  /** Loads the list again, with the new tasks. */
  readonly reload: () => void;
  readonly loadMore: () => void;
}

export function useLiveTasks(filters: TaskFilters): LiveTasks {
  const key = JSON.stringify(filters);
  const first = useResource(
    async (signal) => ({ key, page: await listTasks(filters, { size: PAGE_SIZE }, signal) }),
    [key],
  );
  const [rows, setRows] = useState<readonly TaskRow[]>([]);
  const [token, setToken] = useState<string>();
  const [newIds, setNewIds] = useState<ReadonlySet<string>>(new Set());
  const [problem, setProblem] = useState<Error>();
  const loaded = first.value?.key === key ? first.value.page : undefined;
  useEffect(() => {
    if (loaded === undefined) return;
    setRows(loaded.tasks);
    setToken(loaded.nextPageToken || undefined);
    setNewIds(new Set());
  }, [loaded]);
  const { reload } = first;
  useChanges(filters, (fresh, changes) => {
    if (fresh === "reload") return reload();
    const known = new Set(rows.map(({ id }) => id));
    const more = fresh.filter(({ id }) => !known.has(id)).map(({ id }) => id);
    if (rows.length === 0 && more.length > 0) return reload();
    setNewIds((ids) => new Set([...ids, ...more]));
    setRows(rows.map((row) => updated(row, fresh, changes)));
  });
  const loadMore = (): void => {
    listTasks(filters, { size: PAGE_SIZE, token }).then((page) => {
      const known = new Set(rows.map(({ id }) => id));
      setRows([...rows, ...page.tasks.filter(({ id }) => !known.has(id))]);
      setToken(page.nextPageToken || undefined);
    }, setProblem);
  };
  return {
    rows,
    status: loaded === undefined && first.status === "ready" ? "stale" : first.status,
    problem: first.problem ?? problem,
    newCount: newIds.size,
    hasMore: token !== undefined,
    reload,
    loadMore,
  };
}

/** A task as it is now, at the place where it was. It may not match the filters any more. */
function updated(
  row: TaskRow,
  fresh: readonly TaskRow[],
  changes: ReadonlyMap<string, TaskChange>,
): TaskRow {
  const now = fresh.find(({ id }) => id === row.id);
  if (now !== undefined) return now;
  const change = changes.get(row.id);
  if (change === undefined || isTerminal(row.status.state)) return row;
  const status = { state: change.state, timestamp: new Date().toISOString() };
  return { ...row, head: change.head, status };
}

type Listener = (
  fresh: readonly TaskRow[] | "reload",
  changes: ReadonlyMap<string, TaskChange>,
) => void;

/** Calls back with the newest tasks some time after tasks have changed. */
function useChanges(filters: TaskFilters, listener: Listener): void {
  const latest = useRef({ filters, listener });
  latest.current = { filters, listener };
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let changes = new Map<string, TaskChange>();
    const refresh = async (): Promise<void> => {
      const seen = changes;
      changes = new Map();
      const { filters: asked } = latest.current;
      // A request that fails is followed by the next change, or by a reload.
      const page = await listTasks(asked, { size: PAGE_SIZE }).catch(() => undefined);
      timer = undefined;
      if (page && asked === latest.current.filters) latest.current.listener(page.tasks, seen);
      if (changes.size > 0) schedule();
    };
    const schedule = (): void => {
      timer ??= setTimeout(() => void refresh(), REFRESH_MS);
    };
    const stop = onTaskChange((change) => {
      if (change === "reload") return latest.current.listener("reload", changes);
      changes.set(change.id, change);
      schedule();
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, []);
}
