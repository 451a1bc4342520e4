import { defineAgent } from "convoke";
import { createMemoryBackend } from "@convoke/engine/memory";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { type Message, textOf } from "@convoke/protocol";
import { type Backend, type Engine, Retention, isSettled } from "@convoke/engine";
import { describe, expect, onTestFinished } from "vitest";
import { anEngine, memoryLogger, tell } from "../engine/an-engine.ts";
import { wrapBackend } from "../engine/wrapped-backend.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";

const DAY_MS = 24 * 60 * 60_000;

const agent = defineAgent({
  name: "Mindful",
  description: "Says how much was said before, or asks.",
  run: async ({ text, conversation, ask }) =>
    text === "ask" ? ask("well?") : `I remember ${conversation.length}`,
});

const EXPIRED = { reason: "InvalidParams", field: "message.contextId" };

const BACKENDS: readonly [string, () => Promise<Backend>][] = [
  ["memory", async () => createMemoryBackend()],
  ["SQLite", () => openSqliteBackend({ folder: temporaryFolder(), durability: "process" })],
];

describe.each(BACKENDS)("a conversation in %s", (_name, open) => {
  verifies("R10", "expires with its last task, and its id is freed much later", async () => {
    const { say, later, tidy } = await aWorld(open);
    expect(await say("one", { contextId: "c" })).toBe("I remember 0");
    later(0.5 * DAY_MS);
    expect(await say("two", { contextId: "c" })).toBe("I remember 2");

    later(0.75 * DAY_MS);
    await tidy();
    expect(await say("three", { contextId: "c" })).toBe("I remember 2");
    later(1.5 * DAY_MS);
    await tidy();

    const refused = say("four", { contextId: "c" });
    await expect(refused).rejects.toMatchObject(EXPIRED);
    await expect(refused).rejects.toThrow("leave contextId out to begin a new one");
    later(0.4 * DAY_MS);
    await tidy();
    await expect(say("five", { contextId: "c" })).rejects.toMatchObject(EXPIRED);
    later(0.4 * DAY_MS);
    await tidy();
    expect(await say("six", { contextId: "c" })).toBe("I remember 0");
  });

  verifies("R10", "does not expire while one of its tasks waits", async () => {
    const { say, later, tidy } = await aWorld(open);
    await say("one", { contextId: "c" });
    await say("ask", { contextId: "c" });
    later(1.5 * DAY_MS);
    await tidy();

    expect(await say("two", { contextId: "c" })).toBe("I remember 2");
  });

  verifies(
    ["R10", "G6"],
    "that has expired still recognizes a message that was already sent",
    async () => {
      const { say, later, tidy } = await aWorld(open);
      await say("one", { contextId: "c", messageId: "m1" });
      later(1.5 * DAY_MS);
      await tidy();

      const again = say("one", { contextId: "c", messageId: "m1" });
      await expect(again).rejects.toMatchObject({ reason: "TaskNotFound" });
      const otherWords = say("two", { contextId: "c", messageId: "m1" });
      await expect(otherWords).rejects.toMatchObject({ field: "message.messageId" });
      // A rejected message has not used its id.
      const refused = say("two", { contextId: "c", messageId: "m2" });
      await expect(refused).rejects.toMatchObject(EXPIRED);
      expect(await say("two", { messageId: "m2" })).toBe("I remember 0");
    },
  );

  verifies("R10", "that has expired cannot be used to open tasks without limit", async () => {
    const { say, later, tidy } = await aWorld(open);
    await say("one", { contextId: "c" });
    later(1.5 * DAY_MS);
    await tidy();

    for (let sent = 0; sent < 5; sent++) {
      await expect(say("more", { contextId: "c" })).rejects.toMatchObject(EXPIRED);
    }
    expect(await say("still welcome")).toBe("I remember 0");
  });

  verifies("R10", "is looked up only if it may have expired", async () => {
    const { say, later, asked } = await aWorld(open);

    await say("a context of the server's own");
    await say("a context that is opened", { contextId: "c" });
    // Tasks of the same millisecond have no order.
    later(1);
    await say("a context that continues", { contextId: "c" });

    expect(asked()).toEqual([false, true, false]);
  });
});

/**
 * An engine that keeps ended tasks for a day and message ids for two, and accepts two open tasks.
 */
async function aWorld(open: () => Promise<Backend>) {
  let ahead = 0;
  const backend = wrapBackend(await open());
  const now = (): number => Date.now() + ahead;
  const engine = anEngine(agent, backend, { now, limits: { openTasks: 2 } });
  const retention = new Retention(engine, memoryLogger(), { maxAgeMs: DAY_MS });
  onTestFinished(async () => {
    engine.close();
    await retention.close();
    await backend.close();
  });
  return {
    say: (text: string, more?: Partial<Message>) => say(engine, text, more),
    tidy: () => retention.run(),
    later: (ms: number): void => {
      ahead += ms;
    },
    /** For each created task, whether the storage was asked about its context. */
    asked: () =>
      backend.steps.flatMap(({ create }) =>
        create === undefined ? [] : [create.unlessForgotten === true],
      ),
  };
}

/** The agent's answer to it. */
async function say(engine: Engine, text: string, more?: Partial<Message>): Promise<string> {
  const { live } = await tell(engine, text, more);
  await live.until(isSettled);
  return textOf(live.task);
}
