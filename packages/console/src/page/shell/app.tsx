import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { AgentsPage } from "../agents/agents-page.tsx";
import { HomePage } from "../home/home-page.tsx";
import { Icon, type IconName } from "../kit/icon.tsx";
import { Empty, Problem } from "../kit/notices.tsx";
import { MetricsPage } from "../metrics/metrics-page.tsx";
import { Link, route } from "../navigation/navigate.tsx";
import type { Route } from "../navigation/route.ts";
import { PushesPage } from "../pushes/pushes-page.tsx";
import { about, loadAbout } from "../server/about.ts";
import { openApprovals, watchApprovals } from "../server/approvals.ts";
import { connection, followFeed } from "../server/feed.ts";
import { useResource } from "../server/resource.ts";
import { isSignedIn, signIns, signOut } from "../server/session.ts";
import { TaskPage } from "../task/task-page.tsx";
import { TasksPage } from "../tasks/tasks-page.tsx";
import { lazyPage } from "./lazy-page.tsx";
import { SignIn } from "./sign-in.tsx";
import { ThemeButton } from "./theme.tsx";

interface Section {
  readonly to: Route;
  readonly name: string;
  readonly icon: IconName;
}

const SECTIONS: readonly Section[] = [
  { to: { page: "home" }, name: "Home", icon: "home" },
  { to: { page: "chat" }, name: "Chat", icon: "chat" },
  { to: { page: "tasks", filters: {} }, name: "Tasks", icon: "tasks" },
  { to: { page: "approvals" }, name: "Approvals", icon: "approvals" },
  { to: { page: "pushes" }, name: "Pushes", icon: "pushes" },
  { to: { page: "agents" }, name: "Agents", icon: "agents" },
  { to: { page: "metrics" }, name: "Metrics", icon: "metrics" },
];

/** What each page is given: its own part of the address. */
type PageTable = {
  readonly [Page in Exclude<Route["page"], "unknown">]: ComponentType<{
    readonly route: Extract<Route, { readonly page: Page }>;
  }>;
};

const PAGES: PageTable = {
  home: HomePage,
  chat: lazyPage(async () => (await import("../chat/chat-page.tsx")).ChatPage),
  tasks: TasksPage,
  task: TaskPage,
  approvals: lazyPage(async () => (await import("../approvals/approvals-page.tsx")).ApprovalsPage),
  pushes: PushesPage,
  agents: AgentsPage,
  metrics: MetricsPage,
};

/** The frame around all pages. */
export function App() {
  const loaded = useResource(loadAbout, []);
  useEffect(() => {
    const abort = new AbortController();
    void followFeed(abort.signal).catch(() => (connection.value = "lost"));
    return () => abort.abort();
  }, [signIns.value]);
  useEffect(() => {
    const abort = new AbortController();
    if (about.value !== undefined) watchApprovals(abort.signal);
    return () => abort.abort();
  }, [about.value]);
  const waiting = openApprovals.value?.length ?? 0;
  useEffect(() => {
    document.title = waiting === 0 ? "Convoke" : `(${waiting}) Convoke`;
  }, [waiting]);
  return (
    <div class="frame" data-page={route.value.page} data-connection={connection.value}>
      <a class="skip" href="#content">
        Skip to content
      </a>
      <Navigation />
      <main id="content" class="content" tabIndex={-1}>
        {connection.value === "lost" && (
          <p class="lost" role="status">
            The connection to the server is lost. Trying again…
          </p>
        )}
        {loaded.problem && about.value === undefined ? (
          <Problem problem={loaded.problem} retry={loaded.reload} />
        ) : (
          <CurrentPage />
        )}
      </main>
      <SignIn />
    </div>
  );
}

function CurrentPage() {
  const shown = route.value;
  if (shown.page === "unknown") {
    return (
      <Empty title="There is no such page">
        <Link to={{ page: "home" }}>Go to the home page</Link>
      </Empty>
    );
  }
  const Page = PAGES[shown.page] as ComponentType<{ readonly route: Route }>;
  return <Page route={shown} />;
}

/** How many approvals wait. */
function WaitingCount() {
  const count = openApprovals.value?.length ?? 0;
  if (count === 0) return null;
  return (
    <span class="badge waiting-count">
      {count}
      <span class="visually-hidden"> waiting</span>
    </span>
  );
}

/** Pages that belong to a section, although they have addresses of their own. */
const PARENTS: { readonly [Page in Route["page"]]?: Route["page"] } = { task: "tasks" };

function Navigation() {
  const current = PARENTS[route.value.page] ?? route.value.page;
  return (
    <header class="side">
      <Link to={{ page: "home" }} class="brand">
        <span class="brand-mark" aria-hidden="true" />
        <span class="brand-name">Convoke</span>
      </Link>
      <nav aria-label="Sections">
        <ul class="sections">
          {SECTIONS.map(({ to, name, icon }) => (
            <li key={name}>
              <Link to={to} class="section" aria-current={to.page === current ? "page" : undefined}>
                <Icon name={icon} />
                <span class="section-name">{name}</span>
                {to.page === "approvals" && <WaitingCount />}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div class="side-foot">
        <ThemeButton />
        {isSignedIn() && (
          <button type="button" class="button quiet" onClick={signOut}>
            Sign out
          </button>
        )}
      </div>
    </header>
  );
}
