import { must, should } from "../claim.ts";
import type { Probe } from "../probe.ts";
import { finished } from "../scene/tasks.ts";
import { Failed, Skipped } from "../verdict.ts";
import { textAt } from "../wire/json.ts";

const HOOK = { id: "convoke-check", url: "https://example.com/convoke-check" };

/** What the card does not offer is refused, by the error that is made for it. */
export const CAPABILITIES: readonly Probe[] = [
  {
    name: "no-streaming",
    says: "Without streaming on the card, a stream is refused as UnsupportedOperation.",
    claims: [must("v1-S27", "§3.3.4"), should("v03-S5", "§7.2, §8.2")],
    async run(scene) {
      if (scene.card.streaming) throw new Skipped("the card offers streaming");
      const params = scene.requests.send(scene.settings.message);
      await scene.refusedStream("sendStreamingMessage", params, "UnsupportedOperation");
    },
  },
  {
    name: "no-push",
    says: "Without push on the card, everything about it is refused as PushNotificationNotSupported.",
    claims: [must("v1-S26", "§3.3.4"), should("v03-S5", "§7.5, §8.2")],
    async run(scene) {
      if (scene.card.pushNotifications) throw new Skipped("the card offers push notifications");
      const { requests } = scene;
      const { taskId } = (await finished(scene)).value;
      for (const [operation, params] of [
        ["createPushConfig", requests.createPush(taskId, HOOK)],
        ["getPushConfig", requests.getPush(taskId, HOOK.id)],
        ["listPushConfigs", requests.listPush(taskId)],
        ["deletePushConfig", requests.deletePush(taskId, HOOK.id)],
      ] as const) {
        await scene.refused(scene.call(operation, params), "PushNotificationNotSupported");
      }
    },
  },
  {
    name: "no-extended-card",
    says: "An extended card that the card does not announce is refused as UnsupportedOperation.",
    claims: [must("v1-S28", "§3.3.4")],
    async run(scene) {
      if (scene.card.extendedCard) throw new Skipped("the card announces an extended one");
      await scene.refused(scene.call("getExtendedCard", {}), "UnsupportedOperation");
    },
  },
  {
    name: "no-extended-card",
    says: "An extended card that the card does not announce is refused.",
    claims: [should("v03-S20", "§7.10")],
    // By gRPC this is also how the card itself is got.
    bindings: ["jsonrpc", "rest"],
    async run(scene) {
      if (scene.card.extendedCard) throw new Skipped("the card announces an extended one");
      await scene.refused(scene.call("getExtendedCard", {}));
    },
  },
  {
    name: "extended-card",
    says: "An extended card that the card announces is told, or refused as not configured.",
    claims: [must("v1-S28", "§3.3.4"), must("v03-S20", "§7.10")],
    async run(scene) {
      if (!scene.card.extendedCard) throw new Skipped("the card announces no extended one");
      const answer = await scene.call("getExtendedCard", {});
      if (answer.kind === "refused") {
        await scene.refused(Promise.resolve(answer), "ExtendedAgentCardNotConfigured");
      } else if (textAt(answer.result, "name") === "") {
        throw new Failed("an agent card", answer.exchange);
      }
    },
  },
];
