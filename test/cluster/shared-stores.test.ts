import { randomUUID } from "node:crypto";
import { type AgentServer, bearer, defineAgent, serve } from "convoke";
import { createJsonLogger } from "@convoke/engine";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { verifies } from "../verifies.ts";

const HOUR = 3_600_000;

/** A server draws this many of the read requests at a time, which is 2 %. */
const READS = { limit: 100, windowMs: HOUR };
const DRAWN = 2;

const LOGINS = { limit: 5, windowMs: HOUR };

/** An agent that asks and says on which host it is. */
function twin(hostId: string) {
  return defineAgent({
    name: "Twin",
    description: "Asks.",
    local: true,
    run: async ({ ask }) => `${await ask("Which?")} on ${hostId}`,
  });
}

interface Task {
  readonly id: string;
  readonly status: { readonly state: string };
  readonly artifacts?: unknown;
}

interface Sent {
  readonly task: Task;
}

describe("two servers on one database", () => {
  const address = needsPostgres();
  let url: string;
  let servers: readonly [AgentServer, AgentServer];

  const start = (hostId: string): Promise<AgentServer> =>
    serve(twin(hostId), {
      port: 0,
      database: url,
      hostId,
      logger: createJsonLogger("silent", () => undefined),
      auth: ["ann", "bob"].map((owner) => bearer(owner, { owner })),
      rateLimits: { read: READS, login: LOGINS },
      inbound: { perMinute: 2 },
    });

  beforeAll(async () => {
    url = await address();
    servers = [await start("one"), await start("two")];
  });
  afterAll(() => Promise.all(servers.map((server) => server.close())));

  /** Sends a request to one of them. A body makes it a POST. */
  const ask = (server: AgentServer, token: string, path: string, body?: object) =>
    fetch(new URL(path, server.url), {
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body && { method: "POST", body: JSON.stringify(body) }),
    });

  verifies("G14", "admit no more requests of a caller together than one of them", async () => {
    const codes: number[] = [];
    const sendAll = async (server: AgentServer): Promise<void> => {
      for (let count = 0; count < 65; count++) {
        codes.push((await ask(server, "ann", "/tasks/none")).status);
      }
    };

    await Promise.all(servers.map(sendAll));

    const admitted = codes.filter((code) => code === 404).length;
    expect(admitted).toBeLessThanOrEqual(READS.limit);
    expect(admitted).toBeGreaterThanOrEqual(READS.limit - servers.length * DRAWN);
    expect(new Set(codes)).toEqual(new Set([404, 429]));
    expect((await ask(servers[1], "bob", "/tasks/none")).status).toBe(404);
  });

  test("count the inbound tasks of a caller together", async () => {
    const [a, b] = servers;
    const codes: number[] = [];
    for (const server of [a, b, a, b]) {
      codes.push((await ask(server, "bob", "/a2a/tasks/send", { message: "Hello" })).status);
    }

    expect(codes).toEqual([200, 200, 429, 429]);
  });

  test("continue a task of a local agent on its host, whichever gets the answer", async () => {
    const [a, b] = servers;
    const send = async (server: AgentServer, text: string, taskId?: string): Promise<Task> => {
      const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], taskId };
      return ((await (await ask(server, "bob", "/message:send", { message })).json()) as Sent).task;
    };

    const asked = await send(a, "Go");
    const task = await send(b, "This one", asked.id);

    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(JSON.stringify(task.artifacts)).toContain("This one on one");
  });

  test("reject guesses after so many at either, and have one audit log of them", async () => {
    const [a, b] = servers;
    const codes: number[] = [];
    for (let count = 0; count < LOGINS.limit; count++) {
      codes.push((await ask(a, "guess", "/v1/tasks")).status);
    }
    for (const token of ["guess", "bob"]) codes.push((await ask(b, token, "/v1/tasks")).status);

    expect(codes).toEqual([...Array<number>(LOGINS.limit).fill(401), 429, 429]);
    const { stdout, stderr, code } = await runCli(["audit", url]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const entries = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    expect(entries).toHaveLength(LOGINS.limit + 1);
    expect(entries[0]).toMatchObject({ host: "one", event: "login.failed", path: "/v1/tasks" });
    expect(entries.at(-1)).toMatchObject({ host: "two", event: "login.failed" });
  });

  test("have an audit log that names a database without one", async () => {
    const empty = url.replace(/schema=\w+/, "schema=nothing_here");

    expect(await runCli(["audit"], { env: { DATABASE_URL: empty } })).toEqual({
      code: 3,
      stdout: "",
      stderr: expect.stringMatching(
        /has no audit log in schema nothing_here: is the address right/,
      ),
    });
  });
});
