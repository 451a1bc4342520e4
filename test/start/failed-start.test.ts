import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openPostgresBackend } from "@convoke/backends/postgres";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { type Sharing, startEngine } from "@convoke/engine";
import type { Agent, AgentEnvironment } from "@convoke/protocol";
import { openAgentData } from "@convoke/runtime/agent-data";
import { defineAgent } from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const greeter = defineAgent({ name: "Greeter", description: "Greets.", run: () => "Hello." });

/** An option that the engine refuses after everything else has started. */
const WRONG = { everyMs: 0 };

test("a sub-agent that does not start releases what it holds, and then its storage", async () => {
  const data = temporaryFolder();
  const folder = join(data, "agents", "greeter");
  const busy = expect.objectContaining({ name: "DataFolderBusyError" });
  let environment: AgentEnvironment | undefined;
  const parent: Agent = { ...greeter, prepare: (given) => (environment = given) };
  const { backend } = await openAgentData(parent, {
    data,
    logger: memoryLogger(),
    retention: WRONG,
  });
  onTestFinished(() => backend.close());
  const whenReleased = Promise.withResolvers<unknown>();
  const child: Agent = {
    ...greeter,
    [Symbol.asyncDispose]: async () => {
      whenReleased.resolve(await openSqliteBackend({ folder }).catch((error: unknown) => error));
    },
  };

  await expect(environment?.runBeside?.("greeter", child)).rejects.toThrow("retention.everyMs");

  await (await openSqliteBackend({ folder })).close();
  expect(await whenReleased.promise).toEqual(busy);
});

describe("an engine that does not start", () => {
  const address = needsPostgres();

  test("does not hear of other processes any more, and claims none of their tasks", async () => {
    const backend = await openPostgresBackend({ url: await address() });
    onTestFinished(() => backend.close());
    const { sharing, calls, listeners } = observed(backend.sharing!);
    const start = startEngine({
      agent: greeter,
      backend: {
        tasks: backend.tasks,
        pushes: backend.pushes,
        retention: backend.retention,
        sharing,
        commit: (step) => backend.commit(step),
        read: (...args) => backend.read(...args),
        watch: (...args) => backend.watch(...args),
        close: () => backend.close(),
      },
      logger: memoryLogger(),
      retention: WRONG,
    });

    await expect(start).rejects.toThrow("retention.everyMs");
    const before = [...calls];
    // Longer than the pause between two claims.
    await sleep(1500);

    expect(before).toEqual(expect.arrayContaining(["onMailbox", "claim"]));
    expect([...listeners]).toEqual([]);
    expect(calls).toEqual(before);
  });
});

/** Notes the calls, and which listeners have not been removed. */
function observed(sharing: Sharing) {
  const calls: string[] = [];
  const listeners = new Set<string>();
  const proxy = new Proxy(sharing, {
    get(target, name: string) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: readonly unknown[]): unknown => {
        calls.push(name);
        const result: unknown = Reflect.apply(value, target, args);
        if (!name.startsWith("on")) return result;
        listeners.add(name);
        return () => {
          listeners.delete(name);
          (result as () => void)();
        };
      };
    },
  });
  return { sharing: proxy, calls, listeners };
}
