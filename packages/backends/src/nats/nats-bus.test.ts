import type { Backend } from "@convoke/engine";
import { describeHints } from "@convoke/engine/testing";
import { expect, onTestFinished, test } from "vitest";
import { type NatsServer, needsNats } from "../../../../test/harness/nats.ts";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { beforeAllWith } from "../../../../test/needs.ts";
import { aCutConnection } from "../postgres/cut-connection.suite.ts";
import { opensSharedStorages } from "../postgres/empty-schema.suite.ts";
import { openPostgresBackend, opensNatsBus } from "../postgres/postgres-backend.ts";
import { NatsBus, toNatsServers } from "./nats-bus.ts";

const address = needsPostgres();
const aServer = needsNats();
let server: NatsServer;
beforeAllWith(["nats"], async () => {
  server = await aServer();
  await server.start();
  return () => server.kill();
});

const EVENTUALLY = { timeout: 20_000, interval: 20 };

describeHints(
  "by NATS",
  opensSharedStorages((options) => opensNatsBus(server.url)(options)),
);

test("events that came with a hint are read without the database", async () => {
  const url = await address();
  const connection = await aCutConnection(url);
  const open = async (database: string): Promise<Backend> => {
    const backend = await openPostgresBackend({ url: database, nats: server.url });
    onTestFinished(() => backend.close());
    return backend;
  };
  const [writer, follower] = [await open(url), await open(connection.url)];
  const step = { taskId: "t1", epoch: 1, state: "working", statusAt: 1, listed: true } as const;
  const create = { owner: "ann", contextId: "c1", agent: "greeter", createdAt: 1 };
  await writer.commit({ ...step, create, events: ['{"e":1}'] });
  const heads: number[] = [];

  follower.watch("t1", (head) => heads.push(head));
  connection.loseAnswers();
  const append = async (): Promise<number> => {
    await writer.commit({ ...step, events: ['{"e":"next"}'] });
    return heads.length;
  };
  await expect.poll(append, EVENTUALLY).toBeGreaterThan(1);

  const head = heads.at(-1)!;
  const stored = await writer.read("t1", head - 1, 1);
  expect(await follower.read("t1", head - 1, 1, 1000)).toEqual(stored);
  connection.cut();
});

test("a bus without a server works when there is one, and again after it was killed", async () => {
  const other = await aServer();
  onTestFinished(() => other.kill());
  const lines: string[] = [];
  const aBus = (
    received: string[],
    logger?: ConstructorParameters<typeof NatsBus>[0]["logger"],
  ) => {
    const servers = toNatsServers(other.url);
    const bus = new NatsBus({ servers, installation: "test", logger });
    bus.subscribe((text) => received.push(text));
    onTestFinished(() => bus.close());
    return bus;
  };
  const [toA, toB, toC]: string[][] = [[], [], []];
  const a = aBus(toA!, {
    info: () => void lines.push("info"),
    warn: (line) => void lines.push(`warn: ${line}`),
  });
  const [b, c] = [aBus(toB!), aBus(toC!)];
  b.follow("t 1");
  const isHeard = (text: string): (() => boolean) => {
    return () => {
      a.publish(text);
      a.publish(`${text} about a task`, "t 1");
      return toB!.includes(`${text} about a task`) && toC!.includes(text);
    };
  };

  await expect.poll(() => lines.length, EVENTUALLY).toBe(1);
  await other.start();
  await expect.poll(isHeard("first"), EVENTUALLY).toBe(true);
  await other.kill();
  await expect.poll(() => [a, b, c].some(({ isWorking }) => isWorking), EVENTUALLY).toBe(false);
  await other.start();
  await expect.poll(isHeard("second"), EVENTUALLY).toBe(true);

  expect(toC!.filter((text) => text.includes("task"))).toEqual([]);
  expect(toA).toEqual([]);
  expect(lines.map((line) => line.split(":")[0])).toEqual(["warn", "info", "warn", "info"]);
  expect(lines[0]).toContain("so each looks by itself; check that it runs");
});

test("addresses have credentials, several servers and TLS, and anything else is refused", () => {
  expect(toNatsServers("nats://ann:p%25ss@one:4222, tls://two")).toEqual({
    servers: ["one:4222", "two"],
    user: "ann",
    pass: "p%ss",
    tls: {},
  });
  expect(toNatsServers("nats://secret@one")).toEqual({ servers: ["one"], token: "secret" });
  for (const url of ["one:4222", "http://one", "nats:", ""]) {
    expect(() => toNatsServers(url)).toThrow("nats: expected an address such as nats://host:4222");
  }
});
