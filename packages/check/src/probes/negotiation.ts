import { randomUUID } from "node:crypto";
import { type Probe, must, should } from "./probe.ts";
import { HOOK, UNKNOWN_TASK, finishedTask } from "../scene/fixtures.ts";
import { Failed, Skipped } from "../wire/exchange.ts";
import { listAt, textAt } from "../wire/json.ts";
import type { Scene } from "../scene/scene.ts";
import { extensionHeader } from "../scene/card.ts";

/** Capabilities that the card does not offer. */
export const CAPABILITIES: readonly Probe[] = [
  {
    name: "no-streaming",
    says: "A server without streaming rejects streams with UnsupportedOperation.",
    claims: [must("v1-S27", "§3.3.4"), should("v03-S5", "§7.2, §8.2")],
    async run(scene) {
      if (scene.card.streaming) throw new Skipped("the card offers streaming");
      const params = scene.requests.send(scene.settings.message);
      await scene.expectStreamError("sendStreamingMessage", params, "UnsupportedOperation");
      const unknown = scene.requests.subscribe(UNKNOWN_TASK);
      await scene.expectStreamError("subscribeToTask", unknown, "UnsupportedOperation");
    },
  },
  {
    name: "starts-nothing",
    says: "A rejected stream starts no task.",
    claims: [must("v1-S27", "§3.3.4")],
    async run(scene) {
      if (scene.card.streaming) throw new Skipped("the card offers streaming");
      const contextId = randomUUID();
      const params = scene.requests.send(scene.settings.message, { contextId });
      await scene.expectStreamError("sendStreamingMessage", params);
      const listed = scene.call("listTasks", scene.requests.list({ contextId }));
      const { result, exchange } = await scene.expectResult(listed, "an empty list");
      if (listAt(result, "tasks").length > 0) throw new Failed("an empty list", exchange);
    },
  },
  {
    name: "no-push",
    says: "A server without push notifications rejects push configs with PushNotificationNotSupported.",
    claims: [must("v1-S26", "§3.3.4"), should("v03-S5", "§7.5, §8.2")],
    async run(scene) {
      if (scene.card.pushNotifications) throw new Skipped("the card offers push notifications");
      const { requests } = scene;
      const { taskId } = (await finishedTask(scene)).value;
      for (const [operation, params] of [
        ["createPushConfig", requests.createPush(taskId, HOOK)],
        ["getPushConfig", requests.getPush(taskId, HOOK.id)],
        ["listPushConfigs", requests.listPush(taskId)],
        ["deletePushConfig", requests.deletePush(taskId, HOOK.id)],
        ["sendMessage", requests.send(scene.settings.message, {}, { pushConfig: HOOK })],
      ] as const) {
        await scene.expectError(scene.call(operation, params), "PushNotificationNotSupported");
      }
    },
  },
  {
    name: "no-extended-card",
    says: "Getting an extended card that is not announced is rejected with UnsupportedOperation.",
    claims: [must("v1-S28", "§3.3.4")],
    async run(scene) {
      if (scene.card.extendedCard) throw new Skipped("the card announces an extended card");
      await scene.expectError(scene.call("getExtendedCard", {}), "UnsupportedOperation");
    },
  },
  {
    name: "no-extended-card",
    says: "Getting an extended card that is not announced is rejected.",
    claims: [should("v03-S20", "§7.10")],
    // In gRPC 0.3 the same method returns the public card.
    bindings: ["jsonrpc", "rest"],
    async run(scene) {
      if (scene.card.extendedCard) throw new Skipped("the card announces an extended card");
      await scene.expectError(scene.call("getExtendedCard", {}));
    },
  },
  {
    name: "extended-card",
    says: "An announced extended card is returned, or rejected with ExtendedAgentCardNotConfigured.",
    claims: [must("v1-S28", "§3.3.4"), must("v03-S20", "§7.10")],
    async run(scene) {
      if (!scene.card.extendedCard) throw new Skipped("the card announces no extended card");
      const response = await scene.call("getExtendedCard", {});
      if (response.kind === "error") {
        await scene.expectError(Promise.resolve(response), "ExtendedAgentCardNotConfigured");
      } else if (textAt(response.result, "name") === "") {
        throw new Failed("an agent card", response.exchange);
      }
    },
  },
];

/** Version negotiation. */
export const VERSIONS: readonly Probe[] = [
  {
    name: "unknown-version",
    says: "An unsupported version is rejected with VersionNotSupported.",
    claims: [must("v1-S6", "§3.6.2")],
    async run(scene) {
      const params = scene.requests.send(scene.settings.message);
      const headers = { "a2a-version": "99.0" };
      await scene.expectError(
        scene.call("sendMessage", params, { headers }),
        "VersionNotSupported",
      );
    },
  },
  {
    name: "patch",
    says: "The patch number of a version is ignored.",
    claims: [must("v1-S7", "§3.6")],
    async run(scene) {
      const params = scene.requests.send(scene.settings.message);
      const headers = { "a2a-version": "1.0.1" };
      await scene.expectResult(
        scene.call("sendMessage", params, { headers }),
        "the same as for version 1.0",
      );
    },
  },
  {
    name: "in-query",
    says: "The version may be given in the query instead of a header.",
    claims: [should("v1-S7", "§3.6.1")],
    bindings: ["jsonrpc", "rest"],
    async run(scene) {
      const headers = { "a2a-version": undefined };
      const params = scene.requests.send(scene.settings.message);
      await scene.expectResult(
        scene.call("sendMessage", params, { headers, query: { "A2A-Version": "1.0" } }),
        "the same as for version 1.0",
      );
      await scene.expectError(
        scene.call("sendMessage", params, { headers, query: { "A2A-Version": "99.0" } }),
        "VersionNotSupported",
      );
    },
  },
];

const UNKNOWN_EXTENSION = "https://example.com/extensions/convoke-check/v1";

/** Required, offered and unknown extensions. */
export const EXTENSIONS: readonly Probe[] = [
  {
    name: "strange-extension",
    says: "An unknown extension is ignored and not reported as active.",
    claims: [should("v1-S31", "§4.6.3"), should("v03-S18", "§3.5.5, topic extensions")],
    async run(scene) {
      const { headers, exchange } = await sendWith(scene, [UNKNOWN_EXTENSION, ...required(scene)]);
      const active = activeIn(headers);
      if (active.includes(UNKNOWN_EXTENSION))
        throw new Failed(`no ${UNKNOWN_EXTENSION} in the response headers`, exchange);
    },
  },
  {
    name: "offered-extension",
    says: "An extension that the card offers is reported as active if the caller asks for it.",
    claims: [should("v1-S31", "§4.6.3"), should("v03-S18", "§3.5.5, topic extensions")],
    bindings: ["jsonrpc", "rest"],
    async run(scene) {
      const offered = scene.card.extensions.map(({ uri }) => uri);
      if (offered.length === 0) throw new Skipped("the card has no extensions");
      const { headers, exchange } = await sendWith(scene, offered);
      if (offered.some((uri) => activeIn(headers).includes(uri))) return;
      const name = extensionHeader(scene.client.version);
      throw new Failed(`the header ${name} with the active extensions`, exchange);
    },
  },
  {
    name: "required-extension",
    says: "A request without a required extension is rejected with ExtensionSupportRequired.",
    claims: [must("v1-S29", "§3.3.4, §4.6.3")],
    async run(scene) {
      if (required(scene).length === 0) throw new Skipped("the card requires no extension");
      const params = scene.requests.send(scene.settings.message);
      const headers = { [extensionHeader(scene.client.version)]: undefined };
      await scene.expectError(
        scene.call("sendMessage", params, { headers }),
        "ExtensionSupportRequired",
      );
    },
  },
];

function required({ card }: Scene): readonly string[] {
  return card.extensions.filter((extension) => extension.required).map(({ uri }) => uri);
}

function sendWith(scene: Scene, uris: readonly string[]) {
  const params = scene.requests.send(scene.settings.message);
  const headers = { [extensionHeader(scene.client.version)]: uris.join(",") };
  return scene.expectResult(scene.call("sendMessage", params, { headers }), "a normal response");
}

/** Reads both names, because a server of both versions may use either. */
function activeIn(headers: Readonly<Record<string, string>>): readonly string[] {
  const names = ["a2a-extensions", "x-a2a-extensions"];
  return names.flatMap((name) => (headers[name] ?? "").split(",").map((uri) => uri.trim()));
}
