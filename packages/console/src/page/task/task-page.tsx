import type { ComponentType } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Empty, Loading, Problem } from "../kit/notices.tsx";
import { Tabs } from "../kit/tabs.tsx";
import { Link, navigate } from "../navigation/navigate.tsx";
import { LENSES, type Lens, type Route } from "../navigation/route.ts";
import { about } from "../server/about.ts";
import { FILE_ID, openedFile } from "../server/log-file.ts";
import { signIns } from "../server/session.ts";
import { TaskLog } from "../server/task-log.ts";
import type { LensProps } from "./lens.ts";
import { ModelLens } from "./model-lens.tsx";
import { Playhead } from "./playhead.tsx";
import { PushesLens } from "./pushes-lens.tsx";
import { StoryLens } from "./story-lens.tsx";
import { TaskHead } from "./task-head.tsx";
import { TimelineLens } from "./timeline-lens.tsx";
import { TreeLens } from "./tree-lens.tsx";
import { WireLens } from "./wire-lens.tsx";

type TaskRoute = Extract<Route, { readonly page: "task" }>;

const LENS_VIEWS: Readonly<
  Record<Lens, { readonly name: string; readonly View: ComponentType<LensProps> }>
> = {
  story: { name: "Story", View: StoryLens },
  timeline: { name: "Timeline", View: TimelineLens },
  tree: { name: "Tree", View: TreeLens },
  model: { name: "Model", View: ModelLens },
  wire: { name: "Wire", View: WireLens },
  pushes: { name: "Pushes", View: PushesLens },
};

/** A task and everything that happened in it, seen through one of six lenses at any event of its log. */
export function TaskPage({ route }: { readonly route: TaskRoute }) {
  const log = useTaskLog(route.taskId);
  const [at, go] = usePlayhead(route);
  if (log?.problem.value && log.status.value === "error") {
    return (
      <div class="page" data-status="error">
        <Problem problem={log.problem.value} />
      </div>
    );
  }
  if (log === undefined && route.taskId === FILE_ID) {
    return (
      <div class="page" data-status="error">
        <Empty title="The file is no longer open">
          <Link to={{ page: "tasks", filters: {} }}>Open it again from the list of tasks</Link>
        </Empty>
      </div>
    );
  }
  if (log === undefined || log.status.value === "loading") {
    return (
      <div class="page" data-status="loading">
        <Loading rows={8} />
      </div>
    );
  }
  return <LoadedTask log={log} lens={route.lens} at={at} go={go} />;
}

interface LoadedTaskProps {
  readonly log: TaskLog;
  readonly lens: Lens;
  readonly at: number | undefined;
  readonly go: LensProps["go"];
}

function LoadedTask({ log, lens, at, go }: LoadedTaskProps) {
  const version = log.version.value;
  const { events } = log;
  const isCompacted = log.facts.value?.compacted === true;
  const isNow = at === undefined || at >= events.head || isCompacted;
  const seq = isNow ? events.head : at;
  const [problem, setProblem] = useState<Error>();
  const found = events.taskAt(seq);
  const last = useRef(found);
  last.current = found ?? last.current;
  useEffect(() => {
    setProblem(undefined);
    if (found === undefined) log.need(seq).catch(setProblem);
  }, [log, seq, found === undefined]);
  const entries = useMemo(() => [...events.upTo(seq)], [log, version, seq]);
  const task = last.current;
  const status = problem ? "error" : found === undefined ? "stale" : "ready";
  if (task === undefined) return <Loading rows={8} />;
  const props: LensProps = { log, seq, isNow, task, entries, go };
  const { View } = LENS_VIEWS[lens];
  return (
    <div
      class="page task-page"
      data-status={status}
      data-seq={seq}
      data-task-state={task.status.state}
    >
      <TaskHead {...props} />
      {problem && <Problem problem={problem} />}
      {isCompacted && (
        <p class="notice">
          {log.taskId === FILE_ID
            ? "This file does not have all events of the task, so only its end can be shown."
            : "This log was shortened some time after the task ended. Only the changes of its status and its end are left."}
        </p>
      )}
      <Tabs label="Lenses" panelId="lens" selected={lens} tabs={lensTabs(log.taskId, at)} />
      {!isCompacted && <Playhead {...props} />}
      <div
        id="lens"
        role="tabpanel"
        aria-labelledby={`tab-${lens}`}
        class={`lens lens-${lens}`}
        data-lens={lens}
      >
        <View {...props} />
      </div>
    </div>
  );
}

function lensTabs(taskId: string, at: number | undefined) {
  const isFile = taskId === FILE_ID;
  return LENSES.filter((id) => !isFile || (id !== "tree" && id !== "pushes")).map((id) => ({
    id,
    name: LENS_VIEWS[id].name,
    to: { page: "task", taskId, lens: id, at } as const,
  }));
}

/** Opens the log of a task, and closes it when another one is shown. */
function useTaskLog(taskId: string): TaskLog | undefined {
  const [log, setLog] = useState<TaskLog>();
  // What can be read depends on who reads.
  const isKnown = about.value !== undefined;
  useEffect(() => {
    if (!isKnown || taskId === FILE_ID) return undefined;
    const opened = new TaskLog(taskId);
    setLog(opened);
    void opened.open();
    return () => opened.close();
  }, [taskId, isKnown, signIns.value]);
  if (taskId === FILE_ID) return openedFile.value;
  return log?.taskId === taskId ? log : undefined;
}

/** Browsers reject addresses that change hundreds of times in a few seconds. */
const ADDRESS_MS = 120;

/** The position in the log. The address follows it, and leads back to it. */
function usePlayhead(route: TaskRoute): [number | undefined, LensProps["go"]] {
  const [at, setAt] = useState(route.at);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const latest = useRef(route);
  latest.current = route;
  /** Whether the next change of the address is our own, and may be older than the playhead. */
  const isOwn = useRef(false);
  useEffect(() => {
    if (!isOwn.current) {
      clearTimeout(timer.current);
      setAt(route.at);
    }
    isOwn.current = false;
  }, [route.at, route.taskId]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const go = (to: number | undefined): void => {
    setAt(to);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      isOwn.current = to !== latest.current.at;
      navigate({ ...latest.current, at: to }, { replaces: true });
    }, ADDRESS_MS);
  };
  return [at, go];
}
