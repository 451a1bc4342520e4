import { randomUUID } from "node:crypto";
import type { Report } from "@convoke/check";
import { createJsonLogger } from "@convoke/engine";
import { type ConnectOptions, connect, serve, textOf } from "convoke";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { check, idsOf } from "../../test/check/run-check.ts";
import { keptPort } from "../../test/harness/kept-port.ts";
import { needsPostgres } from "../../test/harness/postgres.ts";
import { needs } from "../../test/needs.ts";
import { verifies } from "../../test/verifies.ts";
import reports from "./agent.ts";
import { LocalCluster } from "./local-cluster.ts";

/** A liveness bound on a slow machine; a takeover takes 3 to 5 seconds. */
const WITHIN_MS = 120_000;

/**
 * The probes that a proxy or several servers could break: streams and their order, several readers,
 * canceling. `npm run test:cluster` runs all probes.
 */
const PROBES =
  Number(process.env["CONVOKE_CLUSTER_TASKS"] ?? 0) < 1000
    ? ["--only", "v1-S14,v1-S16,v1-S25,v1-S62"]
    : [];

describe("three replicas behind nginx", () => {
  const nginx = needs("nginx");
  const database = needsPostgres();
  let started: LocalCluster | undefined;
  beforeEach(async () => {
    started ??= await LocalCluster.start(nginx(), await database());
  }, WITHIN_MS);
  afterAll(() => started?.close());

  test(
    "have the report of one server",
    async () => {
      const { url, token, tls } = cluster();
      const logger = createJsonLogger("silent", () => undefined);
      const common = { token, tls, idempotency: "always", logger } as const;
      const port = await keptPort();
      const publicUrl = `https://localhost:${port}`;
      const one = await serve(reports, { port, publicUrl, data: "memory", ...common });
      onTestFinished(() => one.close());
      const habits = ["--token", token, "--slow", "North, East", "--ask", "publish North"];

      const [alone, together] = await Promise.all([
        check(publicUrl, ...habits, ...PROBES),
        check(url, ...habits, ...PROBES),
      ]);

      expect(idsOf(together.report, "passed")).toContain("v1-S62.tls");
      expect(idsOf(together.report, "failed")).toEqual([]);
      expect(outcomesIn(together.report)).toEqual(outcomesIn(alone.report));
      expect(together.code).toBe(alone.code);
    },
    WITHIN_MS,
  );

  test("take gRPC, and one that did not ask the question accepts the answer", async () => {
    const agent = await client({ bindings: ["grpc"] });
    const { task } = await agent.send("publish North");
    const [asker] = countersIn(textOf(task!));
    const other = cluster().names.find((name) => name !== asker)!;

    await rpc(cluster().addressOf(other), "SendMessage", {
      message: { ...aMessage("yes"), taskId: task!.id },
    });

    expect(agent.binding).toBe("GRPC");
    expect(task?.status.state).toBe("input-required");
    expect(textOf(await agent.get(task!.id))).toContain(`Published by ${other}.`);
  });

  verifies(
    ["G2", "G3"],
    "resume a stream whose replica is killed, exactly as the log has it",
    async () => {
      const agent = await client();
      const run = agent.stream("publish all");
      const events: unknown[] = [];
      let killed: string | undefined;
      for await (const event of run) {
        events.push(event);
        killed ??= await killFirstOf(countersIn(textOf(run.task!)));
      }
      const log: unknown[] = [];
      for await (const event of agent.subscribe(run.taskId!, { lastEventId: "0" })) {
        if (log.push(event) === events.length) break;
      }

      const counters = countersIn(textOf(run.task!));
      expect(run.task?.status.state).toBe("input-required");
      expect(counters).toHaveLength(6);
      expect(counters[0]).toBe(killed);
      expect(counters.at(-1)).not.toBe(killed);
      expect(events).toEqual(log);
    },
    WITHIN_MS,
  );

  verifies(
    ["G3", "G6"],
    "create one task for a message that nginx sends again because its replica is killed",
    async () => {
      const agent = await client();
      const contextId = randomUUID();
      const tasks = async () => (await agent.list({ contextId, includeArtifacts: true })).tasks;
      const sent = rpc(cluster().url, "SendMessage", {
        message: { ...aMessage("publish North, East, South"), contextId },
      });
      const counters = async () => (await tasks()).flatMap((task) => countersIn(textOf(task)));
      await expect.poll(counters, { timeout: WITHIN_MS }).not.toEqual([]);
      const [counter = ""] = await counters();
      const address = new URL(cluster().addressOf(counter)).host;

      await killFirstOf([counter]);
      const answer = await sent;

      expect(answer).toMatchObject({
        result: { task: { status: { state: "TASK_STATE_INPUT_REQUIRED" } } },
      });
      expect(await tasks()).toHaveLength(1);
      const passedOn = cluster()
        .requests()
        .filter((replicas) => replicas.slice(0, -1).includes(address));
      expect(passedOn).not.toEqual([]);
    },
    WITHIN_MS,
  );

  function cluster(): LocalCluster {
    return started!;
  }

  function client(options: ConnectOptions = {}) {
    const { url, token } = cluster();
    return connect(url, { token, ...options });
  }

  /** The name of the killed replica, if there was one to kill. */
  async function killFirstOf(names: readonly string[]): Promise<string | undefined> {
    const [name] = names;
    if (name !== undefined) await cluster().kill(name);
    return name;
  }

  /** One request without a client that would send it again. */
  async function rpc(url: string, method: string, params: object): Promise<unknown> {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "a2a-version": "1.0",
        authorization: `Bearer ${cluster().token}`,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    return response.json();
  }
});

function aMessage(text: string): object {
  return { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] };
}

/** The replicas that counted orders, region by region. */
function countersIn(text: string): readonly string[] {
  return [...text.matchAll(/counted by (\S+)/g)].map(([, name = ""]) => name);
}

/** What each probe found, by interface. */
function outcomesIn({ sections }: Report): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    sections.map(({ name, results }) => [
      name,
      results.map(({ id, outcome }) => `${id} ${outcome}`),
    ]),
  );
}
