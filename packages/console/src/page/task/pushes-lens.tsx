import { type PageRequest, readPages } from "@convoke/protocol/internal";
import { useState } from "preact/hooks";
import { Empty, Loading, Problem } from "../kit/notices.tsx";
import { Ago, formatCount, formatDuration } from "../kit/time.tsx";
import { visibleText } from "../kit/visible-text.tsx";
import {
  PUSH_STATES,
  type PushRow,
  type PushState,
  listPushes,
  replayPushes,
} from "../server/push-list.ts";
import { useResource } from "../server/resource.ts";
import type { LensProps } from "./lens.ts";

/** The webhooks that are notified of the task, and how that went. */
export function PushesLens({ log }: LensProps) {
  const { taskId } = log;
  const pushes = useResource(() => findPushes(taskId), [taskId]);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Error>();
  const replay = async (id: string): Promise<void> => {
    setBusy(true);
    await replayPushes({ taskId, id }).catch(setProblem);
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
      <ul class="task-pushes">
        {pushes.value.map((push) => (
          <li key={push.id} class="card task-push">
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

async function findPushes(taskId: string): Promise<readonly PushRow[]> {
  return (await Promise.all(PUSH_STATES.map((state) => pushesIn(state, taskId)))).flat();
}

/** Lists have all tasks, page by page. */
async function pushesIn(state: PushState, taskId: string): Promise<readonly PushRow[]> {
  const found: PushRow[] = [];
  const read = ({ pageToken }: PageRequest) => listPushes(state, pageToken);
  for await (const { pushes } of readPages(read)) {
    found.push(...pushes.filter((push) => push.taskId === taskId));
  }
  return found;
}

const STATE_TEXTS: Readonly<Record<PushState, string>> = {
  active: "Active",
  done: "Done",
  dead: "Given up",
};

function PushFacts({ push, head }: { readonly push: PushRow; readonly head: number }) {
  return (
    <div class="task-push-facts">
      <p>
        <span class={`badge task-push-${push.state}`}>{STATE_TEXTS[push.state]}</span>{" "}
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
                <Ago at={attempt.at} />: {visibleText(String(attempt.status ?? attempt.problem))} in{" "}
                {formatDuration(attempt.durationMs)}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}
