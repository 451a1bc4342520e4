import { type Probe, may, must, should } from "./probe.ts";
import type { Scene } from "../scene/scene.ts";
import { askingTask, finishedTask } from "../scene/fixtures.ts";
import { type Exchange, Failed, MAX_BYTES, Skipped } from "../wire/exchange.ts";
import { isObject } from "@convoke/protocol/internal";
import { parseJson, textAt, valuesNamed } from "../wire/json.ts";
import { parseEvent } from "../scene/observed.ts";
import { type IncomingMessage, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { WireHeaders } from "../wire/client.ts";

/** An address that accepts requests and does nothing. */
const HOOK = { id: "convoke-check", url: "https://example.com/convoke-check" };

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
  if (!scene.card.pushNotifications)
    throw new Skipped("the card does not offer push notifications");
  try {
    return (await askingTask(scene)).value.taskId;
  } catch (error) {
    if (!(error instanceof Skipped)) throw error;
    return (await finishedTask(scene)).value.taskId;
  }
}

async function create(scene: Scene, taskId: string, target: typeof HOOK): Promise<string> {
  const { result, exchange } = await scene.expectResult(
    scene.call("createPushConfig", scene.requests.createPush(taskId, target)),
    "the push config",
  );
  if (!isObject(result) || !names(result, target.url)) {
    throw new Failed(`a push config with ${target.url}`, exchange);
  }
  const nested = textAt(result, "pushNotificationConfig", "id");
  return nested || textAt(result, "id") || target.id;
}

/** Whether some JSON contains the URL, wherever the version puts it. */
function names(json: unknown, url: string): boolean {
  return valuesNamed(json, "url").includes(url);
}

const TOKEN = "convoke-check-token";

const CREDENTIALS = "convoke-check-credentials";

/** Notifications, and the webhooks that they go to. */
export const WEBHOOKS: readonly Probe[] = [
  {
    name: "notification",
    says: "A notification is a stream response with exactly one member.",
    claims: [must("v1-S42", "§4.3.3")],
    async run(scene) {
      const { body, exchange } = await notified(scene);
      const json = parseJson(body);
      const isOne = isObject(json) && parseEvent(json) !== undefined && !("kind" in json);
      if (!isOne) throw new Failed("one of task, message, statusUpdate, artifactUpdate", exchange);
    },
  },
  {
    name: "authorization",
    says: "A notification carries the credentials of the push config.",
    claims: [must("v1-S42", "§4.3.3, §13.2"), must("v03-S17", "§9.5, topic streaming")],
    async run(scene) {
      const { headers, exchange } = await notified(scene);
      if (headers["authorization"] === `Bearer ${CREDENTIALS}`) return;
      throw new Failed(`Authorization: Bearer ${CREDENTIALS}`, exchange);
    },
  },
  {
    name: "token",
    says: "A notification carries the token of the push config.",
    claims: [should("v03-S17", "topic streaming")],
    async run(scene) {
      const { headers, exchange } = await notified(scene);
      if (headers["x-a2a-notification-token"] === TOKEN) return;
      throw new Failed(`X-A2A-Notification-Token: ${TOKEN}`, exchange);
    },
  },
  {
    name: "private-address",
    says: "A webhook with a private address is rejected on creation.",
    // Only MAY: a server can also refuse to deliver later, which cannot be observed from here.
    claims: [may("v1-S43", "§13.2"), may("v03-S17", "topic streaming")],
    async run(scene) {
      // A link-local address, for a finished task, so that nothing is ever delivered.
      await expectRejectedHook(scene, "http://169.254.169.254/convoke-check");
    },
  },
  {
    name: "no-web-address",
    says: "A webhook that is not an http or https URL is rejected.",
    claims: [should("v1-S43", "§13.2"), should("v03-S14", "§10.2")],
    async run(scene) {
      await expectRejectedHook(scene, "file:///convoke-check");
    },
  },
];

async function expectRejectedHook(scene: Scene, url: string): Promise<void> {
  if (!scene.card.pushNotifications)
    throw new Skipped("the card does not offer push notifications");
  const { taskId } = (await finishedTask(scene)).value;
  const id = "convoke-check-rejected";
  const params = scene.requests.createPush(taskId, { id, url });
  const response = await scene.call("createPushConfig", params);
  if (response.kind === "error") return;
  await scene.call("deletePushConfig", scene.requests.deletePush(taskId, id));
  throw new Failed(`an error for ${url}`, response.exchange);
}

/** A notification about an ordinary task, requested once. */
function notified(scene: Scene): Promise<Notification> {
  return scene.stage.shared.get("a notification", async () => {
    if (!scene.card.pushNotifications)
      throw new Skipped("the card does not offer push notifications");
    const { hostname } = new URL(scene.stage.target.url);
    if (!["127.0.0.1", "localhost", "[::1]"].includes(hostname)) {
      throw new Skipped(
        "the server is on another machine, which may not be able to reach this one",
      );
    }
    return receive(scene, async (url) => {
      const authentication = { schemes: ["Bearer"], credentials: CREDENTIALS };
      const pushConfig = { id: "convoke-check", url, token: TOKEN, authentication };
      const params = scene.requests.send(scene.settings.message, {}, { pushConfig });
      const response = await scene.call("sendMessage", params);
      if (response.kind === "result") return;
      throw new Skipped("the server accepts no webhook on this machine, which is allowed");
    });
  });
}

/** A received notification. */
interface Notification {
  readonly headers: WireHeaders;
  readonly body: string;
  readonly exchange: Exchange;
}

/** How long to wait for a notification. */
const WAIT_MS = 3000;

/** Listens on a local port while `act` runs, and returns the first notification. */
async function receive(scene: Scene, act: (url: string) => Promise<void>): Promise<Notification> {
  const { promise, resolve } = Promise.withResolvers<Omit<Notification, "exchange">>();
  const server = createServer((request, response) => {
    void requestText(request).then((body) => {
      response.writeHead(200).end();
      resolve({ headers: requestHeaders(request), body });
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const timedOut = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => timedOut.resolve(undefined), WAIT_MS);
  try {
    await act(`http://127.0.0.1:${port}/convoke-check`);
    const { sent } = scene.transcript.last;
    const arrived = await Promise.race([promise, timedOut.promise]);
    // A server may accept an address and later decide not to deliver to it.
    if (arrived === undefined) throw new Skipped("no notification arrived on this machine");
    const shown = Object.entries(arrived.headers).map(([name, value]) => `${name}: ${value}`);
    const received = `a notification (${shown.join(", ")}) ${arrived.body.slice(0, 200)}`;
    return { ...arrived, exchange: { sent, received } };
  } finally {
    clearTimeout(timer);
    server.close();
    server.closeAllConnections();
  }
}

function requestHeaders(request: IncomingMessage): WireHeaders {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
}

async function requestText(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of request.setEncoding("utf8") as AsyncIterable<string>) {
    text += piece;
    if (text.length > MAX_BYTES) break;
  }
  return text;
}
