import { createPushReceiver } from "convoke";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { aChattyAgent, aPushingServer } from "./a-pushing-server.ts";
import { Webhook, losesItsAnswer } from "./a-webhook.ts";
import { PUSH_DIALECTS, taskIdOf } from "./requests.ts";

/** working, one, two, the finished artifact, completed. */
const TOLD = 5;

type Receiver = ReturnType<typeof createPushReceiver>;

/** A webhook as our users write one: it responds as the receiver decides. */
async function startReceiving(receiver: Receiver) {
  const webhook = await Webhook.start();
  const seen: string[] = [];
  const answered: number[] = [];
  webhook.manner = (_request, response) =>
    void receiver.receive(webhook.arrivals.at(-1)!).then((received) => {
      const status = received.kind === "refused" ? received.status : 204;
      seen.push(received.kind === "event" ? received.event.kind : received.kind);
      answered.push(status);
      response.writeHead(status).end();
    });
  return { webhook, seen, answered };
}

function post(url: string, { headers, body }: { headers: object; body: string }): Promise<number> {
  const kept = Object.entries(headers).filter(([name]) =>
    /^(a2a|x-a2a|webhook|content-t)/.test(name),
  );
  return fetch(url, { method: "POST", headers: Object.fromEntries(kept), body }).then(
    ({ status }) => status,
  );
}

describe.each(PUSH_DIALECTS)("a notification receiver in $version", (dialect) => {
  verifies(
    ["v1-C8", "v03-C6"],
    "accepts a notification with token and signature about its task, and responds with 2xx",
    async () => {
      const ours = new Set<string>();
      const receiver = createPushReceiver({
        token: "t",
        secret: "shared",
        taskIds: (taskId) => ours.size === 0 || ours.has(taskId),
      });
      const { webhook, seen, answered } = await startReceiving(receiver);
      const server = await aPushingServer(aChattyAgent(), { secret: "shared" });

      ours.add(taskIdOf(await dialect.send(server.url, { url: webhook.url, token: "t" })));
      await webhook.hasReceived(TOLD);
      await expect.poll(() => answered).toEqual(Array.from({ length: TOLD }, () => 204));
      expect(seen).not.toContain("refused");

      const [genuine] = webhook.arrivals;
      const { "x-a2a-notification-token": _, ...withoutToken } = genuine!.headers;
      const forged = { ...genuine!.headers, "x-a2a-notification-token": "guessed" };
      const changed = genuine!.body.replace("working", "failed").replace("WORKING", "FAILED");
      expect(await post(webhook.url, { ...genuine!, headers: withoutToken })).toBe(401);
      expect(await post(webhook.url, { ...genuine!, headers: forged })).toBe(401);
      expect(await post(webhook.url, { ...genuine!, body: `${changed} ` })).toBe(401);

      // A genuine notification about an unknown task.
      const before = answered.length;
      await dialect.send(server.url, { url: webhook.url, token: "t" });
      await expect.poll(() => answered.length).toBeGreaterThan(before);
      expect(answered[before]).toBe(403);
    },
  );

  verifies(["v1-C9", "v03-C6"], "processes none twice, and responds with 2xx to both", async () => {
    const receiver = createPushReceiver({ token: "t", secret: "shared" });
    const { webhook, seen } = await startReceiving(receiver);
    const server = await aPushingServer(aChattyAgent(), { secret: "shared" });
    const answer = webhook.manner;
    let lost = 0;
    // Every first response is lost after it was sent, so everything is sent twice.
    webhook.manner = (request, response) => {
      answer(request, response);
      if (lost++ % 2 === 0) losesItsAnswer(request, response);
    };

    await dialect.send(server.url, { url: webhook.url, token: "t" });
    await expect.poll(() => seen.length, { timeout: 20_000 }).toBe(2 * TOLD);

    expect(seen.filter((kind) => kind !== "repeated")).toHaveLength(TOLD);
    expect(seen.filter((kind) => kind === "repeated")).toHaveLength(TOLD);
  });

  verifies(["v1-C9"], "rejects stale notifications, and those for another config", async () => {
    let now = Date.now();
    const receiver = createPushReceiver({ token: "t", secret: "shared", now: () => now });
    const other = createPushReceiver({ token: "u", secret: "shared" });
    const { webhook, answered } = await startReceiving(receiver);
    const server = await aPushingServer(aChattyAgent(), { secret: "shared" });
    await dialect.send(server.url, { url: webhook.url, token: "t" });
    await webhook.hasReceived(TOLD);
    await expect.poll(() => answered.length).toBe(TOLD);
    const [genuine] = webhook.arrivals;

    now += 6 * 60_000;

    expect(await receiver.receive(genuine!)).toMatchObject({
      status: 401,
      reason: "webhook-timestamp is too long ago",
    });
    expect(await other.receive(genuine!)).toMatchObject({ kind: "refused", status: 401 });
  });

  verifies(
    ["v1-C9"],
    "accepts a limited number per minute, and the others when they are sent again",
    async () => {
      let now = Date.now();
      const receiver = createPushReceiver({ token: "t", maxPerMinute: 2, now: () => now });
      const { webhook, seen, answered } = await startReceiving(receiver);
      const server = await aPushingServer(aChattyAgent());

      await dialect.send(server.url, { url: webhook.url, token: "t" });
      await expect.poll(() => answered).toContain(429);
      expect(seen.filter((kind) => kind !== "refused")).toHaveLength(2);

      const minutes = setInterval(() => (now += 61_000), 20);
      try {
        const taken = () => seen.filter((kind) => kind !== "refused").length;
        await expect.poll(taken, { timeout: 60_000 }).toBe(TOLD);
      } finally {
        clearInterval(minutes);
      }
      expect(webhook.places).toHaveLength(TOLD);
    },
    90_000,
  );
});
