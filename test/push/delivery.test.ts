import { createPushReceiver, defineAgent } from "convoke";
import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryBackend } from "@convoke/engine/memory";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { aChattyAgent, aPushingServer } from "./a-pushing-server.ts";
import { Webhook, accepts, answers, hangs, losesItsAnswer } from "./a-webhook.ts";
import { call } from "../engine/a-server.ts";
import { PUSH_DIALECTS, taskIdOf } from "./requests.ts";

/** working, one, two, the finished artifact, completed. */
const TOLD = 5;

describe.each(PUSH_DIALECTS)("a push config inline in a message of $version", (dialect) => {
  verifies(
    ["G12", "R18"],
    "receives every status and the finished artifact, in order",
    async () => {
      const webhook = await Webhook.start();
      const server = await aPushingServer(aChattyAgent());

      const taskId = taskIdOf(
        await dialect.send(server.url, { url: webhook.url, token: "secret" }),
      );
      await webhook.hasReceived(TOLD);

      const seen = webhook.bodies.map((body) => summary(body));
      expect(seen).toEqual(
        dialect.version === "0.3"
          ? ["working", "working one", "working two +a", "working two +abc", "completed +abc"]
          : [
              "TASK_STATE_WORKING",
              "TASK_STATE_WORKING one",
              "TASK_STATE_WORKING two",
              "artifact abc append=false last=true",
              "TASK_STATE_COMPLETED",
            ],
      );
      expect(webhook.arrivals[0]?.headers).toMatchObject({
        "x-a2a-notification-token": "secret",
        "a2a-version": dialect.version,
        "content-type": dialect.version === "0.3" ? "application/json" : "application/a2a+json",
      });
      expect(JSON.stringify(webhook.bodies)).toContain(taskId);
    },
  );

  verifies("G12", "receives the same of a task that is stored in one step", async () => {
    const webhook = await Webhook.start();
    const server = await aPushingServer(aChattyAgent({ sideEffects: false }));

    await dialect.send(server.url, { url: webhook.url });
    await webhook.hasReceived(TOLD);

    expect(summary(webhook.bodies[0])).toMatch(/working$/i);
    expect(summary(webhook.bodies.at(-1))).toMatch(/completed/i);
  });

  verifies(["G12", "sdk-p3"], "receives the cancellation once, and nothing after it", async () => {
    const webhook = await Webhook.start();
    const endless = async function* ({ signal }: { readonly signal: AbortSignal }) {
      for (let n = 0; !signal.aborted; n += 1) {
        yield `${n} `;
        await sleep(5);
      }
    };
    const server = await aPushingServer(aChattyAgent({ run: endless }), { chunks: true });
    const taskId = taskIdOf(await dialect.send(server.url, { url: webhook.url }));
    await webhook.hasReceived(5);

    const isNew = dialect.version === "1.0";
    await call(server.url, isNew ? "CancelTask" : "tasks/cancel", { id: taskId });

    const ends = () => webhook.bodies.filter((body) => /cancell?ed/i.test(JSON.stringify(body)));
    await expect.poll(() => ends().length, { timeout: 20_000 }).toBeGreaterThan(0);
    await sleep(200);
    expect(ends()).toHaveLength(1);
    expect(webhook.bodies.at(-1)).toEqual(ends()[0]);
    expect(webhook.arrivals).toHaveLength(webhook.places.length);
  });

  verifies(
    "G12",
    "sends chunks as they are produced if the server is configured that way",
    async () => {
      const webhook = await Webhook.start();
      const server = await aPushingServer(aChattyAgent(), { chunks: true });

      await dialect.send(server.url, { url: webhook.url });
      await webhook.hasReceived(8);

      // working, one, a, two, b, c, end of the artifact, completed
      expect(webhook.places).toHaveLength(8);
      expect(webhook.places).toEqual(webhook.places.toSorted((a, b) => a - b));
    },
  );

  verifies(
    ["G12", "R119"],
    "authenticates as the config says, in addition to the token and further headers",
    async () => {
      const webhook = await Webhook.start();
      const server = await aPushingServer(aChattyAgent());
      const authentication =
        dialect.version === "0.3"
          ? { schemes: ["Bearer"], credentials: "xyz" }
          : { scheme: "Bearer", credentials: "xyz" };

      await dialect.send(server.url, {
        url: webhook.url,
        token: "t",
        authentication,
        headers: { "x-team": "blue" },
      });
      await webhook.hasReceived(TOLD);

      expect(webhook.arrivals[0]?.headers).toMatchObject({
        authorization: "Bearer xyz",
        "x-a2a-notification-token": "t",
        "x-team": "blue",
      });
    },
  );

  test("of an agent that may reply without a task receives the reply, or the end of the task", async () => {
    const webhook = await Webhook.start();
    const server = await aPushingServer(
      defineAgent({
        name: "Short",
        description: "Replies, or works.",
        replies: true,
        run: async ({ text, reply }) => (text === "reply" ? reply("hello") : "done"),
      }),
    );
    const parts = [dialect.version === "0.3" ? { kind: "text", text: "reply" } : { text: "reply" }];

    await dialect.send(server.url, { url: webhook.url }, { parts });
    await webhook.hasReceived(1);
    await dialect.send(server.url, { url: webhook.url });
    await webhook.hasReceived(4);

    expect(webhook.arrivals[0]?.body).toContain("hello");
    expect(webhook.arrivals[0]?.body).toMatch(/"taskId":"[0-9a-f-]{36}"/);
    expect(webhook.arrivals.at(-1)?.body.toLowerCase()).toContain("completed");
  });

  verifies(
    "v1-S43",
    "can be verified by the receiver, which processes each notification once",
    async () => {
      const webhook = await Webhook.start();
      const server = await aPushingServer(aChattyAgent(), { secret: "shared" });
      const receiver = createPushReceiver({ secret: "shared", token: "t" });
      let lost = 0;
      // Every first response is lost, so everything is sent twice.
      webhook.manner = (request, response) =>
        lost++ % 2 === 0 ? losesItsAnswer(request, response) : accepts(request, response);

      await dialect.send(server.url, { url: webhook.url, token: "t" });
      await webhook.hasReceived(TOLD);
      await expect.poll(() => webhook.arrivals.length).toBe(2 * TOLD);
      const received = [];
      for (const arrival of webhook.arrivals) received.push((await receiver.receive(arrival)).kind);

      expect(received).toEqual(Array.from({ length: TOLD }, () => ["event", "repeated"]).flat());
    },
  );
});

describe("a receiver that", () => {
  const [dialect] = PUSH_DIALECTS as [(typeof PUSH_DIALECTS)[0]];

  verifies("G12", "is down when the task ends gets everything once it is up", async () => {
    const webhook = await Webhook.start();
    await webhook.down();
    const server = await aPushingServer(aChattyAgent());

    await dialect.send(server.url, { url: webhook.url });
    await sleep(100);
    await webhook.up();
    await webhook.hasReceived(TOLD);

    expect(webhook.places).toEqual(webhook.places.toSorted((a, b) => a - b));
  });

  test.each([
    ["answers 500", answers(500)],
    ["answers 404", answers(404)],
    ["hangs", hangs],
    ["redirects", answers(307, { location: "http://127.0.0.1:1/elsewhere" })],
    ["loses its answers", losesItsAnswer],
  ] as const)("%s for a while loses nothing, and the order is kept", async (_name, manner) => {
    const webhook = await Webhook.start();
    const server = await aPushingServer(aChattyAgent(), { timeoutMs: 100 });
    let count = 0;
    webhook.manner = (request, response) =>
      ++count % 3 === 0 ? accepts(request, response) : manner(request, response);

    await dialect.send(server.url, { url: webhook.url });
    await webhook.hasReceived(TOLD);
    await expect.poll(() => webhook.arrivals.length).toBeGreaterThanOrEqual(3 * TOLD);

    expect(webhook.places).toEqual(webhook.places.toSorted((a, b) => a - b));
  });

  verifies(
    "G12",
    "never responds becomes a single dead letter, and gets everything when it is replayed",
    async () => {
      const webhook = await Webhook.start();
      webhook.manner = answers(503);
      const server = await aPushingServer(aChattyAgent(), { maxAgeMs: 200 });

      const taskId = taskIdOf(await dialect.send(server.url, { url: webhook.url, id: "mine" }));
      const dead = async (): Promise<readonly unknown[]> => {
        const response = await fetch(`${server.url}convoke/pushes`);
        return ((await response.json()) as { pushes: unknown[] }).pushes;
      };
      await expect.poll(dead, { timeout: 20_000 }).toHaveLength(1);
      expect((await dead())[0]).toMatchObject({
        taskId,
        id: "mine",
        state: "dead",
        problem: "the receiver answered 503",
      });
      expect(webhook.places).toHaveLength(1);

      webhook.manner = accepts;
      const replayed = await fetch(`${server.url}convoke/pushes:replay`, { method: "POST" });
      expect(await replayed.json()).toEqual({ replayed: 1 });
      await webhook.hasReceived(TOLD);

      expect(await dead()).toEqual([]);
      expect(webhook.places).toEqual(webhook.places.toSorted((a, b) => a - b));
    },
  );

  test("responds with 410 is not called again", async () => {
    const webhook = await Webhook.start();
    webhook.manner = answers(410);
    const server = await aPushingServer(aChattyAgent());

    await dialect.send(server.url, { url: webhook.url });
    await expect
      .poll(async () => (await server.backend.pushes.list({ state: "dead", limit: 9 })).length)
      .toBe(1);
    await sleep(200);

    expect(webhook.arrivals).toHaveLength(1);
  });

  verifies("G12", "is slow gets one notification at a time for each task", async () => {
    const webhook = await Webhook.start();
    let underWay = 0;
    let most = 0;
    webhook.manner = (request, response) => {
      most = Math.max(most, ++underWay);
      setTimeout(() => {
        underWay--;
        accepts(request, response);
      }, 20);
    };
    const server = await aPushingServer(aChattyAgent());

    await dialect.send(server.url, { url: webhook.url });
    await webhook.hasReceived(TOLD);

    expect(most).toBe(1);
  });
});

describe("a config that is deleted", () => {
  verifies("G12", "receives nothing more, also not what was in flight", async () => {
    const [, dialect] = PUSH_DIALECTS as [unknown, (typeof PUSH_DIALECTS)[0]];
    const webhook = await Webhook.start();
    webhook.manner = hangs;
    const server = await aPushingServer(aChattyAgent(), { timeoutMs: 60_000 });
    const taskId = taskIdOf(await dialect.send(server.url, { url: webhook.url, id: "x" }));
    await webhook.hasReceived(1);

    expect((await dialect.remove(server.url, taskId, "x")).result).toEqual({});
    webhook.manner = accepts;
    await sleep(200);

    expect(webhook.arrivals).toHaveLength(1);
  });
});

describe("a new process", () => {
  verifies("G12", "continues where the last one stopped", async () => {
    const [dialect] = PUSH_DIALECTS as [(typeof PUSH_DIALECTS)[0]];
    const webhook = await Webhook.start();
    const backend = { ...keep(createMemoryBackend()) };
    let count = 0;
    webhook.manner = (request, response) =>
      (++count <= 2 ? accepts : answers(500))(request, response);
    const first = await aPushingServer(aChattyAgent(), {}, backend);
    await dialect.send(first.url, { url: webhook.url });
    await webhook.hasReceived(3);
    await first.close();

    webhook.manner = accepts;
    await aPushingServer(aChattyAgent(), {}, backend);
    await webhook.hasReceived(TOLD);

    expect(webhook.places).toEqual(webhook.places.toSorted((a, b) => a - b));
  });
});

/** A backend that outlives the server that uses it. */
function keep(backend: ReturnType<typeof createMemoryBackend>): typeof backend {
  return {
    tasks: backend.tasks,
    pushes: backend.pushes,
    retention: backend.retention,
    commit: (step) => backend.commit(step),
    read: (taskId, after, limit) => backend.read(taskId, after, limit),
    watch: (taskId, wake) => backend.watch(taskId, wake),
    close: async () => undefined,
  };
}

/** A short description of a notification. */
function summary(body: unknown): string {
  const { status, artifacts, statusUpdate, artifactUpdate } = body as Body;
  const said = status ?? statusUpdate?.status;
  if (artifactUpdate !== undefined) {
    const { artifact, append = false, lastChunk = false } = artifactUpdate;
    return `artifact ${textsOf(artifact)} append=${append} last=${lastChunk}`;
  }
  const words = said?.message === undefined ? "" : ` ${said.message.parts[0]?.text}`;
  const finished = (artifacts ?? []).map((artifact) => ` +${textsOf(artifact)}`).join("");
  return `${said?.state}${words}${finished}`;
}

function textsOf({ parts }: Artifact): string {
  return parts.map(({ text }) => text).join("");
}

interface Artifact {
  readonly parts: readonly { readonly text: string }[];
}

interface Status {
  readonly state: string;
  readonly message?: Artifact;
}

interface Body {
  readonly status?: Status;
  readonly artifacts?: readonly Artifact[];
  readonly statusUpdate?: { readonly status: Status };
  readonly artifactUpdate?: {
    readonly artifact: Artifact;
    readonly append?: boolean;
    readonly lastChunk?: boolean;
  };
}
