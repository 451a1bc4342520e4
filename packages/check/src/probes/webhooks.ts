import { EventEmitter, once } from "node:events";
import { type IncomingMessage, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { isObject } from "@convoke/protocol/internal";
import { type Probe, may, must, should } from "./probe.ts";
import type { Scene } from "../scene/scene.ts";
import {
  HOOK_SECRETS,
  askingTask,
  finishedTask,
  requirePush,
  sendForTask,
} from "../scene/fixtures.ts";
import { parseEvent, parseTask, isTerminalEvent } from "../scene/observed.ts";
import { type Exchange, Failed, MAX_BYTES, Skipped } from "../wire/exchange.ts";
import { parseJson } from "../wire/json.ts";
import type { WireHeaders } from "../wire/client.ts";

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
    name: "notification",
    says: "A notification is the task.",
    claims: [should("v03-S17", "§9.5")],
    async run(scene) {
      const { body, exchange } = await notified(scene);
      const json = parseJson(body);
      const isTask = isObject(json) && json["kind"] === "task" && parseTask(json) !== undefined;
      if (!isTask) throw new Failed('a task with kind: "task"', exchange);
    },
  },
  {
    name: "notification-type",
    says: "The content type of a notification is application/a2a+json.",
    claims: [should("v1-S42", "§4.3.3")],
    async run(scene) {
      const { headers, exchange } = await notified(scene);
      if ((headers["content-type"] ?? "").startsWith("application/a2a+json")) return;
      throw new Failed("the content type application/a2a+json", exchange);
    },
  },
  {
    name: "no-notification",
    says: "Nothing is sent to a deleted push config.",
    claims: [must("v1-S41", "§3.1.10"), must("v03-S5", "§7.8")],
    async run(scene) {
      requireLocal(scene);
      const { taskId, contextId } = (await askingTask(scene)).value;
      await using hooks = await listen();
      for (const id of ["kept", "deleted"]) {
        const params = scene.requests.createPush(taskId, { id, url: `${hooks.url}/${id}` });
        const response = await scene.call("createPushConfig", params);
        if (response.kind === "error") throw new Skipped(NO_LOCAL_HOOKS);
      }
      const deleted = scene.call("deletePushConfig", scene.requests.deletePush(taskId, "deleted"));
      await scene.expectResult(deleted, "an empty result");
      const { exchange } = await sendForTask(scene, scene.settings.message, { taskId, contextId });
      const arrived = await hooks.first(
        ({ path, body }) => path.endsWith("/kept") && isAboutTheEnd(body),
      );
      if (arrived === undefined) throw new Skipped(NOTHING_ARRIVED);
      const wrong = hooks.arrived.find(({ path }) => path.endsWith("/deleted"));
      if (wrong === undefined) return;
      throw new Failed("no notification", { ...exchange, received: describe(wrong) });
    },
  },
  {
    name: "authorization",
    says: "A notification carries the credentials of the push config.",
    claims: [must("v1-S42", "§4.3.3, §13.2"), must("v03-S17", "§9.5, topic streaming")],
    async run(scene) {
      const { headers, exchange } = await notified(scene);
      const { credentials } = HOOK_SECRETS.authentication;
      if (headers["authorization"] === `Bearer ${credentials}`) return;
      throw new Failed(`Authorization: Bearer ${credentials}`, exchange);
    },
  },
  {
    name: "token",
    says: "A notification carries the token of the push config.",
    claims: [should("v03-S17", "topic streaming")],
    async run(scene) {
      const { headers, exchange } = await notified(scene);
      const { token } = HOOK_SECRETS;
      if (headers["x-a2a-notification-token"] === token) return;
      throw new Failed(`X-A2A-Notification-Token: ${token}`, exchange);
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
  requirePush(scene);
  const { taskId } = (await finishedTask(scene)).value;
  const id = "convoke-check-rejected";
  const params = scene.requests.createPush(taskId, { id, url });
  const response = await scene.call("createPushConfig", params);
  if (response.kind === "error") return;
  await scene.call("deletePushConfig", scene.requests.deletePush(taskId, id));
  throw new Failed(`an error for ${url}`, response.exchange);
}

/** Whether a notification of either version reports that its task has ended. */
function isAboutTheEnd(body: string): boolean {
  const json = parseJson(body);
  const event = parseEvent(json) ?? parseTask(json);
  return event !== undefined && isTerminalEvent(event);
}

/** A notification about an ordinary task, requested once. */
function notified(scene: Scene): Promise<Arrival & { readonly exchange: Exchange }> {
  return scene.stage.shared.get("a notification", async () => {
    requireLocal(scene);
    await using hooks = await listen();
    const pushConfig = { id: "convoke-check", url: hooks.url, ...HOOK_SECRETS };
    const params = scene.requests.send(scene.settings.message, {}, { pushConfig });
    const response = await scene.call("sendMessage", params);
    if (response.kind === "error") throw new Skipped(NO_LOCAL_HOOKS);
    const arrival = await hooks.first(() => true);
    // A server may accept an address and later decide not to deliver to it.
    if (arrival === undefined) throw new Skipped(NOTHING_ARRIVED);
    const { sent } = response.exchange;
    return { ...arrival, exchange: { sent, received: describe(arrival) } };
  });
}

const NO_LOCAL_HOOKS = "the server accepts no webhook on this machine, which is allowed";
const NOTHING_ARRIVED = "no notification arrived on this machine";

/** Webhooks can be observed only if the server can reach this machine. */
function requireLocal(scene: Scene): void {
  requirePush(scene);
  const { hostname } = new URL(scene.stage.target.url);
  if (["127.0.0.1", "localhost", "[::1]"].includes(hostname)) return;
  throw new Skipped("the server is on another machine, which may not be able to reach this one");
}

/** A notification that arrived. */
interface Arrival {
  readonly path: string;
  readonly headers: WireHeaders;
  readonly body: string;
}

function describe({ headers, body }: Arrival): string {
  const shown = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `a notification (${shown.join(", ")}) ${body.slice(0, 200)}`;
}

interface Hooks extends AsyncDisposable {
  readonly url: string;
  readonly arrived: readonly Arrival[];
  /** The first notification of that kind, or `undefined` if none arrives in time. */
  first(isWanted: (arrival: Arrival) => boolean): Promise<Arrival | undefined>;
}

/** How long to wait for a notification. */
const WAIT_MS = 3000;

/** Receives notifications on a local port until it is disposed. */
async function listen(): Promise<Hooks> {
  const arrived: Arrival[] = [];
  const arrivals = new EventEmitter();
  const server = createServer((request, response) => {
    void requestText(request).then((body) => {
      response.writeHead(200).end();
      arrived.push({ path: request.url ?? "", headers: requestHeaders(request), body });
      arrivals.emit("arrival");
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/convoke-check`,
    arrived,
    async first(isWanted) {
      const signal = AbortSignal.timeout(WAIT_MS);
      while (!signal.aborted && !arrived.some(isWanted)) {
        await once(arrivals, "arrival", { signal }).catch(() => undefined);
      }
      return arrived.find(isWanted);
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
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
