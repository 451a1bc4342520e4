import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { HomePage } from "../home/home-page.tsx";
import { Empty, Problem } from "../kit/notices.tsx";
import { Link, route } from "../navigation/navigate.tsx";
import type { Route } from "../navigation/route.ts";
import { about, loadAbout } from "../server/about.ts";
import { openApprovals, watchApprovals } from "../server/approvals.ts";
import { connection, followFeed } from "../server/feed.ts";
import { useResource } from "../server/resource.ts";
import { signIns } from "../server/session.ts";
import { TaskPage } from "../task/task-page.tsx";
import { TasksPage } from "../tasks/tasks-page.tsx";
import { Help } from "./help.tsx";
import { lazyPage } from "./lazy-page.tsx";
import { Navigation } from "./navigation.tsx";
import { Palette } from "./palette.tsx";
import { SignIn } from "./sign-in.tsx";
import { titleOf } from "./sections.ts";
import { useShortcuts } from "./shortcuts.ts";

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
  pushes: lazyPage(async () => (await import("../pushes/pushes-page.tsx")).PushesPage),
  agents: lazyPage(async () => (await import("../agents/agents-page.tsx")).AgentsPage),
  metrics: lazyPage(async () => (await import("../metrics/metrics-page.tsx")).MetricsPage),
};

/** The frame around all pages. */
export function App() {
  const loaded = useResource(loadAbout, []);
  useEffect(() => {
    const abort = new AbortController();
    void followFeed(abort.signal).catch(() => (connection.value = "lost"));
    return () => abort.abort();
  }, [signIns.value]);
  const [opened, setOpened] = useState<"palette" | "help">();
  const close = (): void => setOpened(undefined);
  const actions = {
    openPalette: () => setOpened("palette"),
    openHelp: () => setOpened("help"),
  };
  useShortcuts(actions);
  useAnnouncedPage();
  useEffect(() => {
    const abort = new AbortController();
    if (about.value !== undefined) watchApprovals(abort.signal);
    return () => abort.abort();
  }, [about.value]);
  return (
    <div class="frame" data-page={route.value.page} data-connection={connection.value}>
      <a class="skip" href="#content">
        Skip to content
      </a>
      <Navigation {...actions} />
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
      {opened === "palette" && <Palette close={close} />}
      {opened === "help" && <Help close={close} />}
      <SignIn />
    </div>
  );
}

/** Gives each page its title, with the number of approvals that wait, and moves the focus from the navigation to the page it led to. */
function useAnnouncedPage(): void {
  const { page } = route.value;
  const waiting = openApprovals.value?.length ?? 0;
  const count = waiting === 0 ? "" : `(${waiting}) `;
  const title = count + titleOf(route.value, about.value?.agents ?? []);
  useEffect(() => {
    document.title = title;
  }, [title]);
  useEffect(() => {
    // Some pages focus a field of their own.
    if (document.activeElement?.closest(".side") !== null)
      document.querySelector<HTMLElement>("#content")?.focus();
  }, [page]);
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
