import { oneLine } from "@convoke/protocol/internal";
import type { IconName } from "../kit/icon.tsx";
import type { Route } from "../navigation/route.ts";
import type { AgentSummary } from "../server/about.ts";

/** A page of the navigation. */
export interface Section {
  readonly to: Route;
  readonly name: string;
  readonly icon: IconName;
  /** Leads there after `g`. */
  readonly key: string;
  /** On phones it is behind "More", because the bar has room for five. */
  readonly isRare?: boolean;
}

export const SECTIONS: readonly Section[] = [
  { to: { page: "home" }, name: "Home", icon: "home", key: "h" },
  { to: { page: "chat" }, name: "Chat", icon: "chat", key: "c" },
  { to: { page: "tasks", filters: {} }, name: "Tasks", icon: "tasks", key: "t" },
  { to: { page: "approvals" }, name: "Approvals", icon: "approvals", key: "a" },
  { to: { page: "pushes" }, name: "Pushes", icon: "pushes", key: "p", isRare: true },
  { to: { page: "agents" }, name: "Agents", icon: "agents", key: "g", isRare: true },
  { to: { page: "metrics" }, name: "Metrics", icon: "metrics", key: "m", isRare: true },
];

/** Pages that belong to a section, although they have addresses of their own. */
const PARENTS: { readonly [Page in Route["page"]]?: Route["page"] } = { task: "tasks" };

export function isCurrent({ to }: Section, { page }: Route): boolean {
  return to.page === (PARENTS[page] ?? page);
}

/** The title of a page in the tab and in the history of the browser. */
export function titleOf(route: Route, agents: readonly AgentSummary[]): string {
  const name = SECTIONS.find((section) => isCurrent(section, route))?.name ?? "Not found";
  return [subjectOf(route, agents), name, "Convoke"]
    .filter((part) => part !== undefined)
    .join(" · ");
}

/** What a page is about, if it is about one thing. */
function subjectOf(route: Route, agents: readonly AgentSummary[]): string | undefined {
  switch (route.page) {
    case "task":
      return `${oneLine(route.taskId, 40)} (${route.lens})`;
    case "agents":
    case "chat":
      return (
        route.agent && oneLine(agents.find(({ id }) => id === route.agent)?.name ?? route.agent, 40)
      );
    default:
      return undefined;
  }
}
