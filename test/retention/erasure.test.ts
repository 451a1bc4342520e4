import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryBackend } from "@convoke/engine/memory";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { connect } from "@convoke/client";
import { type Backend, createJsonLogger, requestErasure, startEngine } from "@convoke/engine";
import { textOf, textOfParts } from "@convoke/protocol";
import type { ModelRequest } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { bearer } from "@convoke/server";
import { defineAgent, serve } from "convoke";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { memoryLogger, tell } from "../engine/an-engine.ts";
import { aFileMessage } from "../files/a-file.ts";
import { calls } from "../loop/scripts.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { filesWith } from "./erasing-store.ts";

/** A liveness bound for a slow machine. */
const WAIT = { timeout: 20_000 };

const parrot = defineAgent({
  name: "Parrot",
  description: "Repeats what it hears, in many pieces, or asks.",
  async *run({ text, conversation, ask }) {
    if (text.startsWith("ask")) await ask(text);
    for (let piece = 0; piece < 40; piece++) yield `${text} ${"x".repeat(500)} `;
    yield `I remember ${conversation.length}`;
  },
});

describe("a server on SQLite", () => {
  const audited: string[] = [];
  let data: string;
  let server: Awaited<ReturnType<typeof serve>>;

  beforeAll(async () => {
    data = temporaryFolderOfSuite();
    server = await serve(parrot, {
      port: 0,
      data,
      logger: createJsonLogger("info", (line) => audited.push(line)),
      auth: [
        bearer("ann", { owner: "ann-the-owner", scopes: [] }),
        bearer("bob", { owner: "bob-the-owner", scopes: [] }),
        bearer("root"),
        bearer("ops", { owner: "ops", scopes: ["convoke:operate"] }),
      ],
    });
  });
  afterAll(() => server.close());

  const say = async (token: string, text: string, contextId?: string) => {
    const agent = await connect(server.url, { auth: { bearer: token } });
    return agent.send(text, contextId === undefined ? {} : { contextId });
  };
  const erase = (...args: readonly string[]) =>
    runCli(["erase", server.url, ...args, "--yes", "--token", "ops"]);

  test("erases an owner: no file has its name or a word of its tasks, and others keep theirs", async () => {
    const secrets = ["needle-one", "needle-two"];
    for (const secret of secrets) await say("ann", secret);
    await say("ann", "ask needle-three");
    const kept = await say("bob", "hay");
    expect(filesWith(data, "needle-one")).not.toEqual([]);

    const finished = await erase("--owner", "ann-the-owner");

    expect(finished).toMatchObject({ code: 0, stderr: expect.stringContaining("Erased 3 tasks") });
    for (const text of [...secrets, "needle-three", "ann-the-owner"]) {
      expect(filesWith(data, text), text).toEqual([]);
    }
    const bob = await connect(server.url, { auth: { bearer: "bob" } });
    expect(textOf(await bob.get(kept.task!.id))).toContain("hay");
    const entries = audited.filter((line) => line.includes("erasure."));
    expect(entries).toHaveLength(2);
    expect(entries.join()).toContain('"subject":"sha256:');
    expect(entries.join()).not.toContain("ann-the-owner");
  });

  test("erases one conversation, whose id is then that of an expired one", async () => {
    const first = (await say("ann", "needle-four")).task!;
    const other = (await say("ann", "needle-five")).task!;

    const finished = await erase("--owner", "ann-the-owner", "--context", first.contextId);

    expect(finished.stderr).toContain("Erased 1 task ");
    expect(filesWith(data, "needle-four")).toEqual([]);
    const next = say("ann", "again", first.contextId);
    await expect(next).rejects.toThrow("names a conversation that has expired");
    const again = await say("ann", "again", other.contextId);
    expect(textOf(again.task!)).toContain("I remember 2");
  });

  test("rejects callers that are not operators, and for other owners those without the scope", async () => {
    const as = (token: string, ...args: readonly string[]) =>
      runCli(["erase", server.url, ...args, "--yes", "--token", token]);

    const own = await as("ann", "--context", "c");
    const others = await as("ann", "--owner", "bob-the-owner");
    const withoutScope = await as("root", "--owner", "bob-the-owner");
    const ownOfRoot = await as("root", "--owner", "token");

    expect(own.stderr).toContain("erasing data is for operators");
    expect(others.stderr).toContain("erasing data is for operators");
    expect(withoutScope.stderr).toContain("operation 'eraseData' of other owners");
    expect(ownOfRoot.code).toBe(0);
  });
});

/** A folder for all tests of a suite. */
function temporaryFolderOfSuite(): string {
  const folder = mkdtempSync(join(tmpdir(), "convoke-erasure-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("an erasure that was requested in a data folder is done when its server starts", async () => {
  const data = temporaryFolder();
  const logger = memoryLogger();
  const options = { port: 0, data, logger };
  const before = await serve(parrot, options);
  await (await connect(before.url)).send("ask needle");
  await before.close();

  const requested = await runCli(["erase", "--data", data, "--owner", "anonymous", "--yes"]);
  expect(requested.code).toBe(0);
  expect(filesWith(data, "needle")).not.toEqual([]);
  const after = await serve(parrot, options);
  onTestFinished(() => after.close());

  await vi.waitUntil(() => logger.lines.some((line) => line.includes("erasure.finished")), WAIT);
  expect(filesWith(data, "needle")).toEqual([]);
});

test("what agents of the same process did for a conversation goes with it, and nothing else", async () => {
  const data = temporaryFolder();
  const helper = defineAgent({
    name: "helper",
    description: "Helps.",
    run: ({ text }) => `helped with ${text}`,
  });
  /** Hands the message to the helper, and answers once that has. */
  const hand = ({ transcript }: ModelRequest) => {
    const last = transcript.at(-1)!;
    return last.role === "user" ? [calls("helper", { message: textOfParts(last.parts) })] : "Done.";
  };
  const boss = defineAgent({
    name: "boss",
    description: "Lets others work.",
    model: scriptedModel(Array.from({ length: 4 }, () => hand)),
    subAgents: { helper },
  });
  const server = await serve(boss, { port: 0, data, logger: memoryLogger() });
  onTestFinished(() => server.close());
  const agent = await connect(server.url);
  const [first] = [await agent.send("needle-a"), await agent.send("needle-b")];
  const inHelper = (text: string) => filesWith(join(data, "agents"), text);
  expect([inHelper("needle-a").length > 0, inHelper("needle-b").length > 0]).toEqual([true, true]);

  const erased = await runCli(["erase", server.url, "--context", first!.task!.contextId, "--yes"]);

  expect(erased.stderr).toContain("Erased 1 task ");
  expect(filesWith(data, "needle-a")).toEqual([]);
  expect(inHelper("needle-b")).not.toEqual([]);
});

test("an erased owner is asked again for what it has approved for always, and others are not", async () => {
  const granted = [
    { owner: "ann", toolName: "delete" },
    { owner: "bob", toolName: "delete" },
  ];
  const grants = {
    list: async () => [...granted],
    remove: async ({ owner }: { readonly owner: string }) => {
      const index = granted.findIndex((grant) => grant.owner === owner);
      return granted.splice(index, 1).length === 1;
    },
  };
  const backend = createMemoryBackend();
  const agent = { ...parrot, grants };
  const running = await startEngine({ agent, backend, logger: memoryLogger(), push: false });
  onTestFinished(() => running.close());

  await running.erasures.erase({ owner: "ann", contextId: "c" });
  expect(granted).toHaveLength(2);
  await running.erasures.erase({ owner: "ann" });

  expect(granted).toEqual([{ owner: "bob", toolName: "delete" }]);
});

const BACKENDS: readonly [string, () => Promise<Backend>][] = [
  ["memory", async () => createMemoryBackend()],
  ["SQLite", () => openSqliteBackend({ folder: temporaryFolder(), durability: "process" })],
];

test.each(BACKENDS)(
  "an erasure in %s that is cut off after any of its writes is finished by the next process",
  async (_name, open) => {
    const backend = await open();
    const logger = memoryLogger();
    let left = Infinity;
    const cut = cutAfter(backend, () => left-- <= 0);
    const start = () => startEngine({ agent: parrot, backend: cut, logger, push: false });
    const first = await start();
    const { engine } = first;
    let cuts = 0;
    for (let writes = 0; ; writes++) {
      for (const text of ["one", "ask two"]) {
        const parts = [{ kind: "text", text } as const, ...aFileMessage().parts];
        const { live } = await tell(engine, text, { contextId: `c${writes}`, parts });
        await engine.tasks.until(live, ({ task }) =>
          ["completed", "input-required"].includes(task.status.state),
        );
      }
      await requestErasure(backend, { owner: "ann" }, engine.now());
      left = writes;
      const dying = await start();
      await dying.erasures.resume();
      await dying.close();
      const isDone = (await backend.retention.erasures()).length === 0;
      left = Infinity;

      const next = await start();
      await next.erasures.resume();
      await next.close();

      expect(await backend.retention.erasures()).toEqual([]);
      expect(await backend.tasks.newest({ limit: 9 })).toEqual([]);
      for await (const { taskId } of backend.blobs!.tasks()) expect.fail(`files of ${taskId}`);
      if (isDone) break;
      cuts++;
    }
    expect(cuts).toBeGreaterThan(3);
    await first.close();
    await backend.close();
  },
);

test("an engine that closes waits for the current step of an erasure, and the next one finishes it", async () => {
  const backend = createMemoryBackend();
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const order: string[] = [];
  const erase = async () => {
    begun.resolve();
    await gate.promise;
    order.push("step ended");
  };
  const shut = { close: async () => void order.push("storage closed") };
  const { erasures, engine, close } = await startEngine({
    agent: { ...parrot, erase },
    backend: { ...cutAfter(backend, () => false), ...shut },
    logger: memoryLogger(),
    push: false,
  });
  const { live } = await tell(engine, "one");
  await engine.tasks.until(live, ({ task }) => task.status.state === "completed");

  const erased = expect(erasures.erase({ owner: "ann" })).rejects.toThrow("server is stopping");
  await begun.promise;
  const closed = close();
  await sleep(50);
  gate.resolve();
  await Promise.all([erased, closed]);

  expect(order).toEqual(["step ended", "storage closed"]);
  expect(await backend.retention.erasures()).toHaveLength(1);
  expect(await backend.tasks.newest({ limit: 9 })).toHaveLength(1);
});

/** A backend that removes nothing, as if its process had ended, from when `isCut` says so. Others use it, too. */
function cutAfter(backend: Backend, isCut: () => boolean): Backend {
  const cut = <Part extends object>(part: Part, ...removing: readonly (keyof Part)[]): Part =>
    new Proxy(part, {
      get: (target, name) => {
        const method = (target[name as keyof Part] as () => Promise<unknown>).bind(target);
        if (!removing.includes(name as keyof Part)) return method;
        return async (...args: []) => {
          if (isCut()) throw new Error("the process has ended");
          return method(...args);
        };
      },
    });
  return {
    tasks: backend.tasks,
    pushes: backend.pushes,
    retention: cut(backend.retention, "remove", "forgetOwner", "putErasure", "purge"),
    blobs: cut(backend.blobs!, "deleteTask"),
    commit: (step) => backend.commit(step),
    read: (...args) => backend.read(...args),
    watch: (...args) => backend.watch(...args),
    close: async () => undefined,
  };
}
