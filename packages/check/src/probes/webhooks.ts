import { may, must, should } from "../claim.ts";
import type { Probe } from "../probe.ts";
import type { Scene } from "../scene/scene.ts";
import { seenEvent } from "../scene/seen.ts";
import { finished } from "../scene/tasks.ts";
import { type Exchange, Failed, Skipped } from "../verdict.ts";
import { isObject, parseJson } from "../wire/json.ts";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { WireHeaders } from "../wire/call.ts";
import { MAX_BYTES } from "../wire/limits.ts";

/** How long a server may take to push what has happened. */
const PATIENCE_MS = 3000;

const TOKEN = "convoke-check-token";
const CREDENTIALS = "convoke-check-credentials";

/** What is pushed, and where to. */
export const WEBHOOKS: readonly Probe[] = [
  {
    name: "notification",
    says: "A notification is a stream response with exactly one member.",
    claims: [must("v1-S42", "§4.3.3")],
    async run(scene) {
      const { body, exchange } = await notified(scene);
      const json = parseJson(body);
      const isOne = isObject(json) && seenEvent(json) !== undefined && !("kind" in json);
      if (!isOne) throw new Failed("one of task, message, statusUpdate, artifactUpdate", exchange);
    },
  },
  {
    name: "authorization",
    says: "A notification has the credentials that the push config gives.",
    claims: [must("v1-S42", "§4.3.3, §13.2"), must("v03-S17", "§9.5, topic streaming")],
    async run(scene) {
      const { headers, exchange } = await notified(scene);
      if (headers["authorization"] === `Bearer ${CREDENTIALS}`) return;
      throw new Failed(`Authorization: Bearer ${CREDENTIALS}`, exchange);
    },
  },
  {
    name: "token",
    says: "A notification has the token of the push config.",
    claims: [should("v03-S17", "topic streaming")],
    async run(scene) {
      const { headers, exchange } = await notified(scene);
      if (headers["x-a2a-notification-token"] === TOKEN) return;
      throw new Failed(`X-A2A-Notification-Token: ${TOKEN}`, exchange);
    },
  },
  {
    name: "private-address",
    says: "A webhook inside the network of the server is refused when it is given.",
    // It may as well be refused when there is something to push, which nobody sees from here.
    claims: [may("v1-S43", "§13.2"), may("v03-S17", "topic streaming")],
    async run(scene) {
      // Link-local, so it cannot be meant; of a task that has ended nothing is pushed.
      await refusesHook(scene, "http://169.254.169.254/convoke-check");
    },
  },
  {
    name: "no-web-address",
    says: "What is no address on the web is no webhook.",
    claims: [should("v1-S43", "§13.2"), should("v03-S14", "§10.2")],
    async run(scene) {
      await refusesHook(scene, "file:///convoke-check");
    },
  },
];

async function refusesHook(scene: Scene, url: string): Promise<void> {
  if (!scene.card.pushNotifications)
    throw new Skipped("the card does not offer push notifications");
  const { taskId } = (await finished(scene)).value;
  const id = "convoke-check-refused";
  const params = scene.requests.createPush(taskId, { id, url });
  const answer = await scene.call("createPushConfig", params);
  if (answer.kind === "refused") return;
  await scene.call("deletePushConfig", scene.requests.deletePush(taskId, id));
  throw new Failed(`an error for ${url}`, answer.exchange);
}

/** A notification about an ordinary task. It is asked for once. */
function notified(scene: Scene): Promise<Notification> {
  return scene.stage.once.get("a notification", async () => {
    if (!scene.card.pushNotifications)
      throw new Skipped("the card does not offer push notifications");
    const { hostname } = new URL(scene.stage.target.url);
    if (!["127.0.0.1", "localhost", "[::1]"].includes(hostname)) {
      throw new Skipped("the server is on another machine, which may not reach this one");
    }
    return receive(scene, async (url) => {
      const authentication = { schemes: ["Bearer"], credentials: CREDENTIALS };
      const pushConfig = { id: "convoke-check", url, token: TOKEN, authentication };
      const params = scene.requests.send(scene.settings.message, {}, { pushConfig });
      const answer = await scene.call("sendMessage", params);
      if (answer.kind === "served") return;
      throw new Skipped("the server takes no webhook on this machine, which is its right");
    });
  });
}

/** Something that a server pushed. */
interface Notification {
  readonly headers: WireHeaders;
  readonly body: string;
  readonly exchange: Exchange;
}

/** Opens an address on this machine, has something done that leads there, and gives what comes. */
async function receive(scene: Scene, act: (url: string) => Promise<void>): Promise<Notification> {
  const { promise, resolve } = Promise.withResolvers<Omit<Notification, "exchange">>();
  const server = createServer((request, response) => {
    void textOf(request).then((body) => {
      response.writeHead(200).end();
      resolve({ headers: headersOf(request), body });
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const patience = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => patience.resolve(undefined), PATIENCE_MS);
  try {
    await act(`http://127.0.0.1:${port}/convoke-check`);
    const { sent } = scene.transcript.last;
    const came = await Promise.race([promise, patience.promise]);
    // A server may well take an address and then think better of going there.
    if (came === undefined) throw new Skipped("no notification came to this machine");
    const shown = Object.entries(came.headers).map(([name, value]) => `${name}: ${value}`);
    const received = `a notification (${shown.join(", ")}) ${came.body.slice(0, 200)}`;
    return { ...came, exchange: { sent, received } };
  } finally {
    clearTimeout(timer);
    server.close();
    server.closeAllConnections();
  }
}

function headersOf(request: IncomingMessage): WireHeaders {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of request.setEncoding("utf8") as AsyncIterable<string>) {
    text += piece;
    if (text.length > MAX_BYTES) break;
  }
  return text;
}
