import { useState } from "preact/hooks";
import { Empty, Loading, Problem } from "../kit/notices.tsx";
import { Ago, formatCount, formatDuration } from "../kit/time.tsx";
import { visibleText } from "../kit/visible-text.tsx";
import { useResource } from "../server/resource.ts";
import { ask } from "../server/session.ts";
import { scope } from "../server/task-log.ts";
import type { LensProps } from "./lens.ts";

interface Attempt {
  readonly at: string;
  readonly status?: number;
  readonly problem?: string;
  readonly durationMs?: number;
}

/** A webhook that is notified of the task. */
interface Push {
  readonly taskId: string;
  readonly id: string;
  readonly url: string;
  readonly state: "active" | "done" | "dead";
  readonly deliveredUpTo: number;
  readonly failingSince?: string;
  readonly problem?: string;
  readonly nextAt?: string;
  readonly attempts?: readonly Attempt[];
}

interface PushPage {
  readonly pushes: readonly Push[];
  readonly nextPageToken?: string;
}

const STATES = ["dead", "active", "done"] as const;

/** The webhooks that are notified of the task, and how that went. */
export function PushesLens({ log }: LensProps) {
  const { taskId } = log;
  const pushes = useResource((signal) => findPushes(taskId, signal), [taskId]);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Error>();
  const replay = async (id: string): Promise<void> => {
    setBusy(true);
    const body = { taskId, id };
    await ask(`/convoke/pushes:replay?${scope()}`, { method: "POST", body }).catch(setProblem);
    setBusy(false);
    pushes.reload();
  };
  if (pushes.problem) return <Problem problem={pushes.problem} retry={pushes.reload} />;
  if (pushes.value === undefined) return <Loading rows={2} />;
  if (pushes.value.length === 0) {
    return (
      <Empty title="No webhooks">
        <p class="small">Nobody has asked to be notified of this task.</p>
      </Empty>
    );
  }
  return (
    <>
      {problem && <Problem problem={problem} />}
      <ul class="pushes">
        {pushes.value.map((push) => (
          <li key={push.id} class="card push">
            <PushFacts push={push} head={log.events.head} />
            {push.state === "dead" && (
              <button
                type="button"
                class="button"
                disabled={isBusy}
                onClick={() => void replay(push.id)}
              >
                Send again
              </button>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

async function findPushes(taskId: string, signal: AbortSignal): Promise<readonly Push[]> {
  const lists = await Promise.all(STATES.map((state) => pushesIn(state, taskId, signal)));
  return lists.flat();
}

/** Lists have all tasks, page by page. */
async function pushesIn(
  state: Push["state"],
  taskId: string,
  signal: AbortSignal,
): Promise<readonly Push[]> {
  const found: Push[] = [];
  for (let token: string | undefined = ""; token !== undefined;) {
    const more: string = token === "" ? "" : `&pageToken=${encodeURIComponent(token)}`;
    const path = `/convoke/pushes?${scope()}&state=${state}${more}`;
    const page: PushPage = await ask<PushPage>(path, { signal });
    found.push(...page.pushes.filter((push) => push.taskId === taskId));
    token = page.nextPageToken || undefined;
  }
  return found;
}

const STATE_TEXTS: Readonly<Record<Push["state"], string>> = {
  active: "Active",
  done: "Done",
  dead: "Given up",
};

function PushFacts({ push, head }: { readonly push: Push; readonly head: number }) {
  return (
    <div class="push-facts">
      <p>
        <span class={`badge push-${push.state}`}>{STATE_TEXTS[push.state]}</span>{" "}
        <code>{visibleText(push.url)}</code>
      </p>
      <p class="small muted">
        Delivered up to event {formatCount(push.deliveredUpTo)} of {formatCount(head)}
        {push.failingSince !== undefined && (
          <>
            , failing since <Ago at={push.failingSince} />
          </>
        )}
      </p>
      {push.problem !== undefined && <p class="small bad-text">{visibleText(push.problem)}</p>}
      {push.attempts !== undefined && push.attempts.length > 0 && (
        <details>
          <summary class="small">Last {push.attempts.length} attempts</summary>
          <ul class="attempts small">
            {push.attempts.map((attempt) => (
              <li key={attempt.at}>
                <Ago at={attempt.at} />: {visibleText(String(attempt.status ?? attempt.problem))}
                {attempt.durationMs !== undefined && ` in ${formatDuration(attempt.durationMs)}`}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}
