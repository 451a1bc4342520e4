/** The lenses of a task page: the same task and the same position, seen in different ways. */
export const LENSES = ["story", "timeline", "tree", "model", "wire", "pushes"] as const;

export type Lens = (typeof LENSES)[number];

/** A page of the console, with everything that its address says. */
export type Route =
  | { readonly page: "home" }
  | {
      readonly page: "chat";
      /** The id of the agent. Absent for the agent at the root. */
      readonly agent?: string | undefined;
      readonly contextId?: string | undefined;
    }
  | { readonly page: "tasks"; readonly filters: TaskFilters }
  | {
      readonly page: "task";
      readonly taskId: string;
      readonly lens: Lens;
      /** The position in the log that is shown. Absent for the end. */
      readonly at?: number | undefined;
    }
  | { readonly page: "approvals" }
  | { readonly page: "pushes"; readonly state?: string | undefined }
  | { readonly page: "agents"; readonly agent?: string | undefined }
  | { readonly page: "metrics" }
  | { readonly page: "unknown"; readonly path: string };

/** Which tasks a list shows. */
export interface TaskFilters {
  readonly status?: string | undefined;
  readonly agent?: string | undefined;
  readonly contextId?: string | undefined;
  readonly idPrefix?: string | undefined;
  /** "*" for the tasks of all owners. Absent for the visitor's own. */
  readonly owner?: string | undefined;
}

const FILTERS = ["status", "agent", "contextId", "idPrefix", "owner"] as const;

/** Reads an address below `/console`, such as "/tasks/0198…/timeline?at=58". */
export function parseRoute(address: string): Route {
  const { pathname, searchParams } = new URL(address, "http://console");
  const [page = "", ...rest] = pathname.split("/").filter(Boolean).map(decode);
  const [first, second] = rest;
  switch (page) {
    case "":
      return { page: "home" };
    case "chat":
      return { page: "chat", agent: first === "-" ? undefined : first, contextId: second };
    case "tasks":
      if (first === undefined) return { page: "tasks", filters: parseFilters(searchParams) };
      return { page: "task", taskId: first, lens: parseLens(second), at: parseAt(searchParams) };
    case "pushes":
      return { page: "pushes", state: searchParams.get("state") ?? undefined };
    case "agents":
      return { page: "agents", agent: first };
    case "approvals":
    case "metrics":
      return { page };
    default:
      return { page: "unknown", path: pathname };
  }
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function parseFilters(query: URLSearchParams): TaskFilters {
  return Object.fromEntries(
    FILTERS.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : [])),
  );
}

function parseLens(name: string | undefined): Lens {
  return LENSES.find((lens) => lens === name) ?? "story";
}

function parseAt(query: URLSearchParams): number | undefined {
  const at = query.get("at") ?? "";
  return /^[1-9]\d{0,8}$/.test(at) ? Number(at) : undefined;
}

/** The address of a page below `/console`. `parseRoute` is its inverse. */
export function formatRoute(route: Route): string {
  switch (route.page) {
    case "home":
      return "/";
    case "chat":
      return path(
        "chat",
        route.agent ?? (route.contextId === undefined ? undefined : "-"),
        route.contextId,
      );
    case "tasks":
      return path("tasks") + query({ ...route.filters });
    case "task":
      return (
        path("tasks", route.taskId, route.lens === "story" ? undefined : route.lens) +
        query({ at: route.at?.toString() })
      );
    case "pushes":
      return path("pushes") + query({ state: route.state });
    case "agents":
      return path("agents", route.agent);
    case "unknown":
      return route.path;
    default:
      return path(route.page);
  }
}

function path(...segments: readonly (string | undefined)[]): string {
  const given = segments.filter((segment) => segment !== undefined);
  return `/${given.map(encodeURIComponent).join("/")}`;
}

function query(values: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(given as [string, string][]).toString();
  return text === "" ? "" : `?${text}`;
}
