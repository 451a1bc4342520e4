import { oneLine } from "@convoke/protocol/internal";
import { useEffect, useState } from "preact/hooks";
import { Icon } from "../kit/icon.tsx";
import { Empty, Loading, Problem } from "../kit/notices.tsx";
import { Ago, formatDuration } from "../kit/time.tsx";
import { Link } from "../navigation/navigate.tsx";
import type { Route } from "../navigation/route.ts";
import { useLive } from "../server/live.ts";
import { useResource } from "../server/resource.ts";
import {
  PUSH_STATES,
  type PushAttempt,
  type PushChoice,
  type PushRow,
  type PushState,
  listPushes,
  replayPushes,
  testPush,
} from "../server/push-list.ts";

const NAMES: Readonly<Record<PushState, string>> = {
  dead: "Given up",
  active: "Active",
  done: "Done",
};

const EMPTY: Readonly<Record<PushState, string>> = {
  dead: "No delivery was given up",
  active: "No delivery is active",
  done: "No delivery is done",
};

/** Deliveries change without a change of their task, so the list is also read on its own. */
const REFRESH_MS = 3000;

type Props = { readonly route: Extract<Route, { readonly page: "pushes" }> };

/** The deliveries of push notifications by state, with what to do about those that failed. */
export function PushesPage({ route }: Props) {
  const state = PUSH_STATES.find((each) => each === route.state) ?? "dead";
  const [token, setToken] = useState("");
  const [said, setSaid] = useState<string>();
  useEffect(() => setToken(""), [state]);
  const list = useResource(() => listPushes(state, token), [state, token]);
  useLive(list.reload);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || list.reload(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [list.reload]);
  const replay = (choice: PushChoice): void => {
    replayPushes(choice)
      .then((count) =>
        setSaid(count === 1 ? "1 delivery resumed." : `${count} deliveries resumed.`),
      )
      .catch((problem: Error) => setSaid(problem.message))
      .finally(list.reload);
  };
  const rows = list.value?.pushes.filter((row) => row.state === state);
  return (
    <div class="page" data-status={list.status}>
      <div class="page-head">
        <h1>Pushes</h1>
        {state === "dead" && rows !== undefined && rows.length > 0 && (
          <button type="button" class="button" onClick={() => replay({})}>
            <Icon name="refresh" size={16} /> Replay all
          </button>
        )}
      </div>
      <div class="push-states">
        <StateFilter current={state} />
        <span class="muted small" role="status">
          {said}
        </span>
      </div>
      {list.problem && <Problem problem={list.problem} retry={list.reload} />}
      {rows === undefined && !list.problem && <Loading />}
      {rows?.length === 0 && <Empty title={EMPTY[state]} />}
      <ul class="push-list">
        {rows?.map((row) => (
          <li key={`${row.taskId} ${row.id}`}>
            <Delivery row={row} replay={replay} />
          </li>
        ))}
      </ul>
      <Pages token={token} next={list.value?.nextPageToken} show={setToken} />
    </div>
  );
}

function StateFilter({ current }: { readonly current: PushState }) {
  return (
    <nav class="push-states" aria-label="Deliveries by state">
      {PUSH_STATES.map((state) => (
        <Link
          key={state}
          to={{ page: "pushes", state }}
          class="button"
          aria-current={state === current ? "page" : undefined}
        >
          {NAMES[state]}
        </Link>
      ))}
    </nav>
  );
}

interface PagesProps {
  readonly token: string;
  readonly next: string | undefined;
  readonly show: (token: string) => void;
}

function Pages({ token, next = "", show }: PagesProps) {
  return (
    <div class="push-states">
      {token !== "" && (
        <button type="button" class="button" onClick={() => show("")}>
          First page
        </button>
      )}
      {next !== "" && (
        <button type="button" class="button" onClick={() => show(next)}>
          Next page
        </button>
      )}
    </div>
  );
}

interface DeliveryProps {
  readonly row: PushRow;
  readonly replay: (choice: PushChoice) => void;
}

function Delivery({ row, replay }: DeliveryProps) {
  const { taskId, id, url, state, attempts = [], owner } = row;
  const isFailing = state === "active" && row.failingSince !== undefined;
  return (
    <article class="card push" data-push-state={isFailing ? "failing" : state}>
      <div class="push-head">
        <h2 class="mono">{oneLine(url)}</h2>
        <span class={`badge push-${isFailing ? "failing" : state}`}>
          {isFailing ? "Failing" : NAMES[state]}
        </span>
      </div>
      <p class="muted small">
        Task{" "}
        <Link to={{ page: "task", taskId, lens: "pushes" }}>
          <span class="mono">{oneLine(taskId, 60)}</span>
        </Link>
        , config <span class="mono">{oneLine(id, 60)}</span>
        {owner !== undefined && `, of ${oneLine(owner, 60)}`}. Delivered up to event{" "}
        {row.deliveredUpTo}.
      </p>
      <Failing {...row} />
      <Attempts attempts={attempts} />
      <div class="push-actions">
        {state === "dead" && (
          <>
            <button type="button" class="button" onClick={() => replay({ taskId, id })}>
              Replay
            </button>
            <button type="button" class="button" onClick={() => replay({ taskId })}>
              Replay all of this task
            </button>
          </>
        )}
        <TestButton row={row} />
      </div>
    </article>
  );
}

function Failing({ failingSince, problem, nextAt }: PushRow) {
  if (failingSince === undefined) return null;
  return (
    <p class="small push-problem">
      Failing since <Ago at={failingSince} />
      {problem !== undefined && `: ${oneLine(problem)}`}.
      {nextAt !== undefined && ` Next attempt at ${new Date(nextAt).toLocaleTimeString()}.`}
    </p>
  );
}

function Attempts({ attempts }: { readonly attempts: readonly PushAttempt[] }) {
  if (attempts.length === 0) return null;
  const { length } = attempts;
  return (
    <details class="push-attempts">
      <summary class="small">{length === 1 ? "1 attempt" : `Last ${length} attempts`}</summary>
      <ul class="push-tries">
        {attempts.toReversed().map((attempt) => (
          <li key={attempt.at} class="small">
            <Ago at={attempt.at} />: {describeAttempt(attempt)}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Sends a test notification and says what the receiver answered. */
function TestButton({ row }: { readonly row: PushRow }) {
  const [said, setSaid] = useState("");
  const test = (): void => {
    setSaid("Sending…");
    testPush(row)
      .then((attempt) => setSaid(describeAttempt(attempt)))
      .catch((problem: Error) => setSaid(problem.message));
  };
  return (
    <>
      <button type="button" class="button" onClick={test}>
        Send a test
      </button>
      <span class="muted small" role="status">
        {said}
      </span>
    </>
  );
}

function describeAttempt({ status, problem, durationMs }: PushAttempt): string {
  const answer = status === undefined ? "" : `status ${status}`;
  const facts = [answer, oneLine(problem ?? ""), formatDuration(durationMs)];
  return facts.filter((fact) => fact !== "").join(", ");
}
