import { must } from "../claim.ts";
import type { Probe } from "../probe.ts";
import type { Scene } from "../scene/scene.ts";
import { asking, finished } from "../scene/tasks.ts";
import { Failed, Skipped } from "../verdict.ts";
import { isObject, textAt } from "../wire/json.ts";
import { valuesNamed } from "../wire/walk.ts";

/** An address that takes anything and does nothing. */
const HOOK = { id: "convoke-check", url: "https://example.com/convoke-check" };

/** Push configs: made, told, listed, deleted. */
export const PUSH_CONFIGS: readonly Probe[] = [
  {
    name: "create",
    says: "A push config that is made comes back with its address.",
    claims: [must("v1-S39", "§3.1.7"), must("v03-S5", "§7.5")],
    async run(scene) {
      await configured(scene);
    },
  },
  {
    name: "get",
    says: "A push config is told as it was given.",
    claims: [must("v1-S40", "§3.1.8"), must("v03-S5", "§7.6")],
    async run(scene) {
      const { taskId, id } = await configured(scene);
      const params = scene.requests.getPush(taskId, id);
      const { result, exchange } = await scene.served(
        scene.call("getPushConfig", params),
        "the push config",
      );
      if (!names(result, HOOK.url)) throw new Failed(`a push config with ${HOOK.url}`, exchange);
    },
  },
  {
    name: "get-missing",
    says: "A push config that does not exist is refused.",
    claims: [must("v1-S40", "§3.1.8"), must("v03-S5", "§7.6")],
    async run(scene) {
      const { taskId } = await configured(scene);
      const params = scene.requests.getPush(taskId, "convoke-check-no-such-config");
      await scene.refused(scene.call("getPushConfig", params));
    },
  },
  {
    name: "list",
    says: "A list of push configs has all of the task.",
    claims: [must("v1-S40", "§3.1.9"), must("v03-S5", "§7.7")],
    async run(scene) {
      const { taskId } = await configured(scene);
      const { result, exchange } = await scene.served(
        scene.call("listPushConfigs", scene.requests.listPush(taskId)),
        "the push configs",
      );
      if (!names(result, HOOK.url)) throw new Failed(`a list with ${HOOK.url}`, exchange);
    },
  },
  {
    name: "delete",
    says: "A push config that was deleted is gone.",
    claims: [must("v1-S41", "§3.1.10"), must("v03-S5", "§7.8")],
    async run(scene) {
      const { taskId } = await configured(scene);
      const id = await create(scene, taskId, { ...HOOK, id: "convoke-check-deleted" });
      const params = scene.requests.deletePush(taskId, id);
      await scene.served(scene.call("deletePushConfig", params), "nothing, and no error");
      await scene.refused(scene.call("getPushConfig", scene.requests.getPush(taskId, id)));
    },
  },
  {
    name: "delete-again",
    says: "Deleting it again succeeds.",
    claims: [must("v1-S41", "§3.1.10")],
    async run(scene) {
      const { taskId } = await configured(scene);
      const id = await create(scene, taskId, { ...HOOK, id: "convoke-check-deleted" });
      const params = scene.requests.deletePush(taskId, id);
      await scene.served(scene.call("deletePushConfig", params), "nothing, and no error");
      await scene.served(scene.call("deletePushConfig", params), "nothing once more, and no error");
    },
  },
];

/** A task with a push config. It is made once. */
function configured(scene: Scene): Promise<{ readonly taskId: string; readonly id: string }> {
  return scene.stage.once.get("a push config", async () => {
    const taskId = await pushableTask(scene);
    return { taskId, id: await create(scene, taskId, HOOK) };
  });
}

/** A task about which there may be something to push; one that has ended has to do otherwise. */
async function pushableTask(scene: Scene): Promise<string> {
  if (!scene.card.pushNotifications)
    throw new Skipped("the card does not offer push notifications");
  try {
    return (await asking(scene)).value.taskId;
  } catch (error) {
    if (!(error instanceof Skipped)) throw error;
    return (await finished(scene)).value.taskId;
  }
}

async function create(scene: Scene, taskId: string, target: typeof HOOK): Promise<string> {
  const { result, exchange } = await scene.served(
    scene.call("createPushConfig", scene.requests.createPush(taskId, target)),
    "the push config",
  );
  if (!isObject(result) || !names(result, target.url)) {
    throw new Failed(`a push config with ${target.url}`, exchange);
  }
  const nested = textAt(result, "pushNotificationConfig", "id");
  return nested || textAt(result, "id") || target.id;
}

/** Whether some JSON has the address, wherever the version puts it. */
function names(json: unknown, url: string): boolean {
  return valuesNamed(json, "url").includes(url);
}
