import { must, should } from "../claim.ts";
import type { Probe } from "../probe.ts";
import type { Scene } from "../scene/scene.ts";
import { seenTask } from "../scene/seen.ts";
import { isLastWord, needsStreaming } from "../scene/streams.ts";
import { finished, getTask, slowText, working } from "../scene/tasks.ts";
import { Failed, Skipped } from "../verdict.ts";
import { isRefusedAs } from "../wire/is-refused-as.ts";

const UNKNOWN = "convoke-check-no-such-task";

/** Canceling. */
export const CANCEL: readonly Probe[] = [
  {
    name: "cancel-unknown",
    says: "Canceling a task that does not exist is refused as TaskNotFound.",
    claims: [must("v1-S25", "§3.1.5"), should("v03-S11", "§7.4, §8.2")],
    async run(scene) {
      await scene.refused(scene.call("cancelTask", scene.requests.cancel(UNKNOWN)), "TaskNotFound");
    },
  },
  {
    name: "cancel-ended",
    says: "Canceling a task that has ended is refused as TaskNotCancelable.",
    claims: [must("v1-S25", "§3.1.5"), should("v03-S15", "§7.4, §8.2")],
    async run(scene) {
      const { taskId, state } = (await finished(scene)).value;
      if (state === "canceled") throw new Skipped("the ordinary task was canceled");
      await scene.refused(
        scene.call("cancelTask", scene.requests.cancel(taskId)),
        "TaskNotCancelable",
      );
    },
  },
  {
    name: "cancel",
    says: "Canceling a task that is worked on gives the task, canceled.",
    claims: [must("v1-S25", "§3.1.5"), must("v03-S4", "§7.4")],
    async run(scene) {
      await cancel(scene, (await working(scene)).value.taskId);
    },
  },
  {
    name: "cancel-again",
    says: "Canceling it again gives the canceled task, or TaskNotCancelable.",
    claims: [must("v1-S25", "§3.1.5, §3.3.1"), should("v03-S15", "§7.4, §8.2")],
    async run(scene) {
      const { taskId } = (await working(scene)).value;
      await cancel(scene, taskId);
      const answer = await scene.call("cancelTask", scene.requests.cancel(taskId));
      if (answer.kind === "refused") {
        await scene.refused(Promise.resolve(answer), "TaskNotCancelable");
      } else if (seenTask(answer.result)?.state !== "canceled") {
        throw new Failed("the canceled task, or TaskNotCancelable", answer.exchange);
      }
    },
  },
  {
    name: "cancel-ends-stream",
    says: "The stream of a task that is canceled says so and ends.",
    claims: [must("v1-S14", "§3.1.2")],
    async run(scene) {
      needsStreaming(scene);
      const params = scene.requests.send(await slowText(scene));
      const opened = await scene.open("sendStreamingMessage", params);
      const first = await opened.events.next();
      const task = first.done === true ? undefined : seenTask(taskIn(first.value.json));
      if (task === undefined) throw new Skipped("the stream does not begin with a task");
      await cancel(scene, task.taskId);
      const story = await scene.read(opened);
      if (story.ended && story.events.some(isLastWord)) return;
      throw new Failed("a status in which the task is canceled, and the end", story.exchange);
    },
  },
];

function taskIn(json: unknown): unknown {
  return (json as { readonly task?: unknown } | undefined)?.task;
}

/** Cancels, where the agent lets itself be canceled at all. */
async function cancel(scene: Scene, taskId: string): Promise<void> {
  const answer = await scene.call("cancelTask", scene.requests.cancel(taskId));
  if (answer.kind === "refused") {
    if (isRefusedAs(answer.error, "TaskNotCancelable", scene.speaker.version)) {
      throw new Skipped("the agent does not let its tasks be canceled");
    }
    throw new Failed("the canceled task", answer.exchange);
  }
  if (seenTask(answer.result)?.state === "canceled") return;
  const { value, exchange } = await getTask(scene, taskId);
  if (value.state !== "canceled") throw new Failed("a task that is canceled", exchange);
}
