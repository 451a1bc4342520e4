import { may, must, should } from "../claim.ts";
import type { Probe } from "../probe.ts";
import type { Scene } from "../scene/scene.ts";
import { seenEvent } from "../scene/seen.ts";
import { finished } from "../scene/tasks.ts";
import { type Notification, receive } from "../scene/webhook.ts";
import { Failed, Skipped } from "../verdict.ts";
import { isObject, parseJson } from "../wire/json.ts";

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
