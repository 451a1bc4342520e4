import { useState } from "preact/hooks";
import { Empty, Loading, Problem } from "../kit/notices.tsx";
import { navigate } from "../navigation/navigate.tsx";
import type { Route } from "../navigation/route.ts";
import { about } from "../server/about.ts";
import { cancelTask } from "../server/cancel-task.ts";
import { FILE_ID, openLogFile } from "../server/log-file.ts";
import type { TaskRow } from "../server/task-list.ts";
import { useLiveTasks } from "./live-tasks.ts";
import { SavedViews } from "./saved-views.tsx";
import { TaskFilters } from "./task-filters.tsx";
import { TaskTable } from "./task-table.tsx";

type TasksRoute = Extract<Route, { readonly page: "tasks" }>;

/** All tasks, the most recently changed first. */
export function TasksPage({ route: { filters } }: { readonly route: TasksRoute }) {
  const tasks = useLiveTasks(filters);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const choose = (id: string, isChosen: boolean): void => {
    const changed = new Set(chosen);
    if (isChosen) changed.add(id);
    else changed.delete(id);
    setChosen(changed);
  };
  const { rows, problem, newCount } = tasks;
  return (
    <div class="page tasks-page" data-status={tasks.status}>
      <div class="page-head">
        <h1>Tasks</h1>
        <OpenFile />
        <SavedViews filters={filters} />
      </div>
      <TaskFilters filters={filters} />
      {problem && <Problem problem={problem} retry={tasks.reload} />}
      <div role="status" class="new-tasks">
        {newCount > 0 && (
          <button type="button" class="button primary" onClick={tasks.reload}>
            {newCount} new
          </button>
        )}
      </div>
      <BulkCancel rows={rows} chosen={chosen} clear={() => setChosen(new Set())} />
      {rows.length > 0 ? (
        <TaskTable
          rows={rows}
          hasOwners={filters.owner === "*"}
          hasAgents={(about.value?.agents.length ?? 0) > 1}
          chosen={chosen}
          choose={choose}
        />
      ) : (
        <NoTasks isLoading={tasks.status === "loading" || tasks.status === "stale"} />
      )}
      {tasks.hasMore && (
        <button type="button" class="button load-more" onClick={tasks.loadMore}>
          Load more
        </button>
      )}
    </div>
  );
}

/** Shows a log that was exported, from this server or another. */
function OpenFile() {
  const [problem, setProblem] = useState<Error>();
  const open = async (event: Event): Promise<void> => {
    const input = event.currentTarget as HTMLInputElement;
    const [file] = input.files ?? [];
    if (file === undefined) return;
    try {
      openLogFile(await file.text());
      navigate({ page: "task", taskId: FILE_ID, lens: "story" });
    } catch (failure) {
      setProblem(failure as Error);
    }
  };
  return (
    <>
      <label class="button file-button">
        Open a log file
        <input
          type="file"
          class="visually-hidden"
          accept=".jsonl,application/jsonl"
          onChange={(event) => void open(event)}
        />
      </label>
      {problem && <Problem problem={problem} />}
    </>
  );
}

function NoTasks({ isLoading }: { readonly isLoading: boolean }) {
  if (isLoading) return <Loading rows={6} />;
  return (
    <Empty title="No tasks">
      <p class="small">Send a message to an agent, or change the filters.</p>
    </Empty>
  );
}

interface BulkCancelProps {
  readonly rows: readonly TaskRow[];
  readonly chosen: ReadonlySet<string>;
  readonly clear: () => void;
}

/** Cancels the chosen tasks, after asking once more. */
function BulkCancel({ rows, chosen, clear }: BulkCancelProps) {
  const [isAsking, setAsking] = useState(false);
  const [problem, setProblem] = useState<Error>();
  const open = rows.filter(({ id }) => chosen.has(id));
  const what = open.length === 1 ? "1 task" : `${open.length} tasks`;
  const cancel = async (): Promise<void> => {
    setAsking(false);
    setProblem(undefined);
    const asked = open.map(({ id, agentId }) => cancelTask(id, agentId).catch(setProblem));
    await Promise.all(asked);
    clear();
  };
  return (
    <>
      {problem && <Problem problem={problem} />}
      {open.length > 0 && (
        <div class="bulk card">
          <span>{isAsking ? `Cancel ${what} for good?` : `${what} chosen`}</span>
          {isAsking ? (
            <button type="button" class="button danger" onClick={() => void cancel()}>
              Yes, cancel {what}
            </button>
          ) : (
            <button type="button" class="button danger" onClick={() => setAsking(true)}>
              Cancel {what}
            </button>
          )}
          <button
            type="button"
            class="button quiet"
            onClick={() => {
              setAsking(false);
              clear();
            }}
          >
            Clear
          </button>
        </div>
      )}
    </>
  );
}
