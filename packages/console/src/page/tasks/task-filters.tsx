import { TASK_STATES, type TaskState } from "@convoke/protocol";
import { useEffect, useState } from "preact/hooks";
import { STATE_NAMES } from "../kit/state-badge.tsx";
import { formatCount } from "../kit/time.tsx";
import { navigate } from "../navigation/navigate.tsx";
import type { TaskFilters as Filters } from "../navigation/route.ts";
import { about } from "../server/about.ts";
import { onTaskChange } from "../server/feed.ts";
import { useResource } from "../server/resource.ts";
import { listTasks } from "../server/task-list.ts";

function apply(filters: Filters): void {
  navigate({ page: "tasks", filters }, { replaces: true });
}

/** Which tasks are listed. The address has all of it. */
export function TaskFilters({ filters }: { readonly filters: Filters }) {
  const agents = about.value?.agents ?? [];
  const readsAllOwners = about.value?.caller.readsAllOwners === true;
  return (
    <>
      <StateChips filters={filters} />
      <div class="task-filters">
        {agents.length > 1 && (
          <label class="field">
            Agent
            <select
              class="input"
              value={filters.agent ?? ""}
              onChange={(event) => {
                const agent = (event.currentTarget as HTMLSelectElement).value;
                apply({ ...filters, agent: agent || undefined });
              }}
            >
              <option value="">All agents</option>
              {agents.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
        <TextFilter name="idPrefix" label="Task id begins with" filters={filters} />
        <TextFilter name="contextId" label="Context id" filters={filters} />
        {readsAllOwners && (
          <label class="choice small">
            <input
              type="checkbox"
              checked={filters.owner === "*"}
              onChange={(event) => {
                const isAll = (event.currentTarget as HTMLInputElement).checked;
                apply({ ...filters, owner: isAll ? "*" : undefined });
              }}
            />
            All owners
          </label>
        )}
      </div>
    </>
  );
}

interface TextFilterProps {
  readonly name: "idPrefix" | "contextId";
  readonly label: string;
  readonly filters: Filters;
}

function TextFilter({ name, label, filters }: TextFilterProps) {
  return (
    <label class="field">
      {label}
      <input
        class="input mono"
        type="search"
        spellcheck={false}
        value={filters[name] ?? ""}
        onChange={(event) => {
          const value = (event.currentTarget as HTMLInputElement).value.trim();
          apply({ ...filters, [name]: value || undefined });
        }}
      />
    </label>
  );
}

/** How many tasks are counted. More would be read from the log of each. */
const COUNTED = 100;

const COUNT_MS = 2000;

/** The states of the newest tasks, with how many there are, as filters. */
function StateChips({ filters }: { readonly filters: Filters }) {
  const { status, ...others } = filters;
  const counted = useResource(
    (signal) => listTasks(others, { size: COUNTED }, signal),
    [JSON.stringify(others)],
  );
  useSlowReload(counted.reload);
  const { tasks = [], nextPageToken } = counted.value ?? {};
  const counts = new Map<TaskState, number>();
  for (const { status: one } of tasks) counts.set(one.state, (counts.get(one.state) ?? 0) + 1);
  const shown = TASK_STATES.filter((state) => counts.has(state) || state === status);
  const more = nextPageToken ? "+" : "";
  return (
    <div class="chips" role="group" aria-label="State">
      <Chip
        name="All"
        count={`${formatCount(tasks.length)}${more}`}
        isOn={status === undefined}
        choose={() => apply(others)}
      />
      {shown.map((state) => (
        <Chip
          key={state}
          name={STATE_NAMES[state]}
          count={`${formatCount(counts.get(state) ?? 0)}${more}`}
          isOn={status === state}
          choose={() => apply({ ...others, ...(status !== state && { status: state }) })}
        />
      ))}
    </div>
  );
}

/** Counts again after changes, but not with each. */
function useSlowReload(reload: () => void): void {
  const [isDue, setDue] = useState(false);
  useEffect(() => onTaskChange(() => setDue(true)), []);
  useEffect(() => {
    if (!isDue) return undefined;
    const timer = setTimeout(() => {
      setDue(false);
      reload();
    }, COUNT_MS);
    return () => clearTimeout(timer);
  }, [isDue, reload]);
}

interface ChipProps {
  readonly name: string;
  readonly count: string;
  readonly isOn: boolean;
  readonly choose: () => void;
}

function Chip({ name, count, isOn, choose }: ChipProps) {
  return (
    <button type="button" class="chip" aria-pressed={isOn} onClick={choose}>
      {name} <span class="chip-count">{count}</span>
    </button>
  );
}
