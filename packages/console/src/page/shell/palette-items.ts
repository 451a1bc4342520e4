import { oneLine } from "@convoke/protocol/internal";
import type { IconName } from "../kit/icon.tsx";
import type { Route } from "../navigation/route.ts";
import type { AgentSummary } from "../server/about.ts";
import type { TaskRow } from "../server/task-list.ts";
import { SECTIONS } from "./sections.ts";

/** Something that the palette leads to. */
export interface PaletteItem {
  readonly name: string;
  /** What kind of thing it is. */
  readonly kind: string;
  readonly icon: IconName;
  readonly to: Route;
}

/** Everything that the palette knows, in the order in which it is shown without a query. */
export function allItems(
  agents: readonly AgentSummary[],
  tasks: readonly TaskRow[],
): readonly PaletteItem[] {
  return [
    ...SECTIONS.map(({ to, name, icon }) => ({ name, kind: "Page", icon, to })),
    ...agents.flatMap(agentItems),
    ...tasks.map(({ id, firstWords = "", agent }): PaletteItem => ({
      name: oneLine(firstWords, 100) || id,
      kind: `Task of ${oneLine(agent, 40)}`,
      icon: "tasks",
      to: { page: "task", taskId: id, lens: "story" },
    })),
  ];
}

function agentItems({ id, name }: AgentSummary): readonly PaletteItem[] {
  const shown = oneLine(name, 60);
  return [
    { name: `Talk to ${shown}`, kind: "Chat", icon: "chat", to: { page: "chat", agent: id } },
    { name: shown, kind: "Agent", icon: "agents", to: { page: "agents", agent: id } },
  ];
}

const MAX_SHOWN = 12;

/** The items that contain every word of the query, those that begin with it first. */
export function findItems(items: readonly PaletteItem[], query: string): readonly PaletteItem[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = items.filter(({ name, kind }) => {
    const text = `${name} ${kind}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const [first = ""] = words;
  const begins = ({ name }: PaletteItem): boolean => name.toLowerCase().startsWith(first);
  const ranked = [...found.filter(begins), ...found.filter((item) => !begins(item))];
  return [...idItems(query.trim()), ...ranked].slice(0, MAX_SHOWN);
}

/** A task id that was pasted, or the beginning of one. */
function idItems(id: string): readonly PaletteItem[] {
  if (!/^[\da-f]{4}[\w.:-]*$/i.test(id)) return [];
  return [
    {
      name: `Open task ${id}`,
      kind: "Task id",
      icon: "tasks",
      to: { page: "task", taskId: id, lens: "story" },
    },
    {
      name: `Tasks whose id begins with ${id}`,
      kind: "Search",
      icon: "search",
      to: { page: "tasks", filters: { idPrefix: id } },
    },
  ];
}
