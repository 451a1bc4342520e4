import type { PushTarget } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { type Probe, must, should } from "./probe.ts";
import type { Scene } from "../scene/scene.ts";
import {
  HOOK,
  HOOK_SECRETS,
  UNKNOWN_TASK,
  askingTask,
  finishedTask,
  requirePush,
} from "../scene/fixtures.ts";
import { Failed, Skipped } from "../wire/exchange.ts";
import { textAt, valuesNamed } from "../wire/json.ts";

/** Managing push configs. */
export const PUSH_CONFIGS: readonly Probe[] = [
  {
    name: "create",
    says: "Creating a push config returns it with its URL.",
    claims: [must("v1-S39", "§3.1.7"), must("v03-S5", "§7.5")],
    async run(scene) {
      await configured(scene);
    },
  },
  {
    name: "get",
    says: "A push config can be read.",
    claims: [must("v1-S40", "§3.1.8"), must("v03-S5", "§7.6")],
    async run(scene) {
      const { taskId, id } = await configured(scene);
      const params = scene.requests.getPush(taskId, id);
      const { result, exchange } = await scene.expectResult(
        scene.call("getPushConfig", params),
        "the push config",
      );
      if (!names(result, HOOK.url)) throw new Failed(`a push config with ${HOOK.url}`, exchange);
    },
  },
  {
    name: "as-given",
    says: "A push config is returned as it was created.",
    claims: [should("v1-S40", "§3.1.8"), should("v03-S5", "§7.6")],
    async run(scene) {
      const { taskId } = await configured(scene);
      const id = await create(scene, taskId, {
        ...HOOK,
        id: "convoke-check-whole",
        ...HOOK_SECRETS,
      });
      const params = scene.requests.getPush(taskId, id);
      const { result, exchange } = await scene.expectResult(
        scene.call("getPushConfig", params),
        "the push config",
      );
      const isWhole =
        valuesNamed(result, "token").includes(HOOK_SECRETS.token) &&
        valuesNamed(result, "credentials").includes(HOOK_SECRETS.authentication.credentials);
      if (!isWhole) throw new Failed("the token and the credentials of the push config", exchange);
    },
  },
  {
    name: "own-id",
    says: "A push config without an id receives one.",
    claims: [must("v1-S39", "§3.1.7"), should("v03-S5", "§7.5")],
    async run(scene) {
      const { taskId } = await configured(scene);
      const { result, exchange } = await scene.expectResult(
        scene.call("createPushConfig", scene.requests.createPush(taskId, { url: HOOK.url })),
        "the push config",
      );
      const id = configId(result);
      if (id === "") throw new Failed("a push config with an id", exchange);
      const params = scene.requests.getPush(taskId, id);
      await scene.expectResult(scene.call("getPushConfig", params), `the push config ${id}`);
    },
  },
  {
    name: "unusual-id",
    says: "The id of a push config may contain any characters.",
    claims: [should("v1-S40", "§3.1.8, §11.3")],
    async run(scene) {
      const { taskId } = await configured(scene);
      const target = { ...HOOK, id: "a/b c%2F?ü#:cancel" };
      const id = await create(scene, taskId, target);
      const { requests } = scene;
      const params = requests.getPush(taskId, id);
      await scene.expectResult(scene.call("getPushConfig", params), `the push config ${id}`);
      const deleted = scene.call("deletePushConfig", requests.deletePush(taskId, id));
      await scene.expectResult(deleted, "an empty result");
    },
  },
  {
    name: "unknown-task",
    says: "The push configs of an unknown task are rejected with TaskNotFound.",
    claims: [must("v1-S39", "§3.1.7, §3.1.8"), should("v03-S11", "§7.5, §8.2")],
    async run(scene) {
      requirePush(scene);
      const { requests } = scene;
      for (const [operation, params] of [
        ["createPushConfig", requests.createPush(UNKNOWN_TASK, HOOK)],
        ["getPushConfig", requests.getPush(UNKNOWN_TASK, HOOK.id)],
        ["listPushConfigs", requests.listPush(UNKNOWN_TASK)],
        ["deletePushConfig", requests.deletePush(UNKNOWN_TASK, HOOK.id)],
      ] as const) {
        await scene.expectError(scene.call(operation, params), "TaskNotFound");
      }
    },
  },
  {
    name: "get-missing",
    says: "Getting an unknown push config is rejected.",
    claims: [must("v1-S40", "§3.1.8"), must("v03-S5", "§7.6")],
    async run(scene) {
      const { taskId } = await configured(scene);
      const params = scene.requests.getPush(taskId, "convoke-check-no-such-config");
      await scene.expectError(scene.call("getPushConfig", params));
    },
  },
  {
    name: "list",
    says: "A list contains the push configs of the task.",
    claims: [must("v1-S40", "§3.1.9"), must("v03-S5", "§7.7")],
    async run(scene) {
      const { taskId } = await configured(scene);
      const { result, exchange } = await scene.expectResult(
        scene.call("listPushConfigs", scene.requests.listPush(taskId)),
        "the push configs",
      );
      if (!names(result, HOOK.url)) throw new Failed(`a list with ${HOOK.url}`, exchange);
    },
  },
  {
    name: "delete",
    says: "A deleted push config cannot be read.",
    claims: [must("v1-S41", "§3.1.10"), must("v03-S5", "§7.8")],
    async run(scene) {
      const { taskId } = await configured(scene);
      const id = await create(scene, taskId, { ...HOOK, id: "convoke-check-deleted" });
      const params = scene.requests.deletePush(taskId, id);
      await scene.expectResult(scene.call("deletePushConfig", params), "an empty result");
      await scene.expectError(scene.call("getPushConfig", scene.requests.getPush(taskId, id)));
    },
  },
  {
    name: "delete-again",
    says: "Deleting a push config twice succeeds.",
    claims: [must("v1-S41", "§3.1.10")],
    async run(scene) {
      const { taskId } = await configured(scene);
      const id = await create(scene, taskId, { ...HOOK, id: "convoke-check-deleted" });
      const params = scene.requests.deletePush(taskId, id);
      await scene.expectResult(scene.call("deletePushConfig", params), "an empty result");
      await scene.expectResult(scene.call("deletePushConfig", params), "an empty result again");
    },
  },
];

/** A task with a push config, created once. */
function configured(scene: Scene): Promise<{ readonly taskId: string; readonly id: string }> {
  return scene.stage.shared.get("a push config", async () => {
    const taskId = await pushableTask(scene);
    return { taskId, id: await create(scene, taskId, HOOK) };
  });
}

/** A task that may still change, or else a finished one. */
async function pushableTask(scene: Scene): Promise<string> {
  requirePush(scene);
  try {
    return (await askingTask(scene)).value.taskId;
  } catch (error) {
    if (!(error instanceof Skipped)) throw error;
    return (await finishedTask(scene)).value.taskId;
  }
}

async function create(scene: Scene, taskId: string, target: PushTarget): Promise<string> {
  const { result, exchange } = await scene.expectResult(
    scene.call("createPushConfig", scene.requests.createPush(taskId, target)),
    "the push config",
  );
  if (!isObject(result) || !names(result, target.url)) {
    throw new Failed(`a push config with ${target.url}`, exchange);
  }
  return configId(result) || (target.id ?? "");
}

/** The id in a push config of any dialect, or "". In 0.3 proto it is the end of a resource name. */
function configId(config: unknown): string {
  const name = textAt(config, "name").split("/pushNotificationConfigs/").at(1);
  return textAt(config, "pushNotificationConfig", "id") || textAt(config, "id") || (name ?? "");
}

/** Whether some JSON contains the URL, wherever the version puts it. */
function names(json: unknown, url: string): boolean {
  return valuesNamed(json, "url").includes(url);
}
