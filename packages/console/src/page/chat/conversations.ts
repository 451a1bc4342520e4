import type { TaskState } from "@convoke/protocol";
import { oneLine } from "@convoke/protocol/internal";
import type { TaskRow } from "../server/task-list.ts";

/** The tasks of a context, as an entry of a list. */
export interface ConversationEntry {
  readonly contextId: string;
  /** The first words of its first task, as far as the list has it. */
  readonly title: string;
  /** The state of its newest task. */
  readonly state: TaskState;
  readonly changedAt: string;
}

/** Groups tasks, which are listed with the most recently changed first, by their contexts. */
export function groupByContext(tasks: readonly TaskRow[]): readonly ConversationEntry[] {
  return [...Map.groupBy(tasks, ({ contextId }) => contextId).values()].map((group) => {
    const byAge = group.toSorted((a, b) => a.createdAt.localeCompare(b.createdAt));
    const [first, newest] = [byAge[0]!, byAge.at(-1)!];
    return {
      contextId: first.contextId,
      title: oneLine(first.firstWords ?? "", 80) || "A conversation",
      state: newest.status.state,
      changedAt: group[0]!.status.timestamp,
    };
  });
}
