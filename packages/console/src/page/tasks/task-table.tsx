import { isTerminal } from "@convoke/protocol";
import { useRef } from "preact/hooks";
import { StateBadge } from "../kit/state-badge.tsx";
import { Ago, formatCost, formatCount, formatDuration } from "../kit/time.tsx";
import { useKeys } from "../kit/use-keys.ts";
import { shortId, visibleLine } from "../kit/visible-text.tsx";
import { Link } from "../navigation/navigate.tsx";
import type { TaskRow } from "../server/task-list.ts";

interface TaskTableProps {
  readonly rows: readonly TaskRow[];
  readonly hasOwners: boolean;
  readonly hasAgents: boolean;
  /** The ids of the tasks that are chosen for a common action. */
  readonly chosen: ReadonlySet<string>;
  readonly choose: (id: string, isChosen: boolean) => void;
}

/** The tasks. The keys j and k move between them, Enter opens one. */
export function TaskTable({ rows, hasOwners, hasAgents, chosen, choose }: TaskTableProps) {
  const table = useRef<HTMLTableElement>(null);
  const move = (by: number): void => {
    const links = [...table.current!.querySelectorAll<HTMLElement>(".task-link")];
    const place = links.indexOf(document.activeElement as HTMLElement);
    links[Math.max(0, Math.min(links.length - 1, place + by))]?.focus();
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
  return (
    <table ref={table} class="task-table card">
      <thead>
        <tr>
          <th scope="col">
            <span class="visually-hidden">Choose</span>
          </th>
          <th scope="col">Task</th>
          <th scope="col">State</th>
          {hasAgents && <th scope="col">Agent</th>}
          {hasOwners && <th scope="col">Owner</th>}
          <th scope="col">Changed</th>
          <th scope="col" class="number">
            Duration
          </th>
          <th scope="col" class="number">
            Tokens
          </th>
          <th scope="col" class="number">
            Cost
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id} data-task-id={row.id} data-task-state={row.status.state}>
            <td class="task-choose">
              {!isTerminal(row.status.state) && (
                <input
                  type="checkbox"
                  aria-label={`Choose ${titleOf(row)}`}
                  checked={chosen.has(row.id)}
                  onChange={(event) =>
                    choose(row.id, (event.currentTarget as HTMLInputElement).checked)
                  }
                />
              )}
            </td>
            <td class="task-words">
              <div class="task-line">
                <Link to={{ page: "task", taskId: row.id, lens: "story" }} class="task-link">
                  {titleOf(row)}
                </Link>
                <span class="task-id mono muted">{shortId(row.id)}</span>
              </div>
            </td>
            <td>
              <StateBadge state={row.status.state} />
            </td>
            {hasAgents && <td class="task-agent">{visibleLine(row.agent, 40)}</td>}
            {hasOwners && <td class="task-owner">{visibleLine(row.owner ?? "", 40)}</td>}
            <td class="task-changed">
              <Ago at={row.status.timestamp} />
            </td>
            <Figures row={row} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function titleOf({ firstWords, id }: TaskRow): string {
  return visibleLine(firstWords ?? "", 140) || shortId(id);
}

function Figures({ row: { usage, createdAt, status } }: { readonly row: TaskRow }) {
  const took = Date.parse(status.timestamp) - Date.parse(createdAt);
  const tokens = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
  return (
    <>
      <td class="number">{isTerminal(status.state) ? formatDuration(Math.max(0, took)) : ""}</td>
      <td class="number">{tokens > 0 ? formatCount(tokens) : ""}</td>
      <td class="number">{usage?.costUsd === undefined ? "" : formatCost(usage.costUsd)}</td>
    </>
  );
}
