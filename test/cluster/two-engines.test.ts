import { textOf, userMessage } from "@convoke/protocol";
import {
  pauseTask,
  resumePausedTask,
  type sendMessage,
  sendStreamingMessage,
  subscribeToTask,
} from "@convoke/engine";
import type { AgentDefinition } from "convoke";
import { describe, expect } from "vitest";
import { Webhook } from "../push/a-webhook.ts";
import { verifies } from "../verifies.ts";
import { LossyMemory } from "./lossy-memory.ts";
import { type SharedBackend, SharedMemory } from "./shared-memory.ts";
import { TestReplica, twoReplicas } from "./test-replica.ts";

/** Holds the results of all reads of a backend until they are released. */
function holdReads(backend: SharedBackend): {
  readonly begun: Promise<void>;
  readonly release: () => void;
} {
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const read = backend.read.bind(backend);
  backend.read = async (...query) => {
    const page = await read(...query);
    begun.resolve();
    await held.promise;
    return page;
  };
  return { begun: begun.promise, release: held.resolve };
}

/** Holds the answers to all commits of a backend until they are released. */
function holdCommits(backend: SharedBackend): () => void {
  const held = Promise.withResolvers<void>();
  const commit = backend.commit.bind(backend);
  backend.commit = async (step) => {
    const result = await commit(step);
    await held.promise;
    return result;
  };
  return held.resolve;
}

/** An agent that says a second word when it may, and then hangs. */
function aTwoChunkAgent(): { readonly agent: Partial<AgentDefinition>; readonly more: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const agent: Partial<AgentDefinition> = {
    run: async function* () {
      yield "one ";
      await promise;
      yield "two";
      await new Promise(() => undefined);
    },
  };
  return { agent, more: resolve };
}

describe.each([
  ["with hints", true],
  ["without hints", false],
])("two processes on one storage, %s", (_, hasHints) => {
  function aShared(): SharedMemory {
    const shared = new SharedMemory();
    shared.hasHints = hasHints;
    return shared;
  }

  verifies("G11", "accept one of two answers to a question", async () => {
    const answers: string[] = [];
    const { a, b } = await twoReplicas(
      {
        run: async ({ ask }) => {
          const answer = await ask("Which?");
          answers.push(String(answer));
          return `You said ${answer}`;
        },
      },
      aShared(),
    );
    const { id: taskId } = await a.send("go");

    const results = await Promise.allSettled([a.send("yes", { taskId }), b.send("no", { taskId })]);

    const accepted = results.filter(({ status }) => status === "fulfilled");
    expect(accepted).toHaveLength(1);
    const task = await b.get(taskId);
    expect(task.status.state).toBe("completed");
    const said = task.history
      ?.filter(({ role }) => role === "user")
      .map((message) => textOf(message));
    expect(said).toHaveLength(2);
    expect(textOf(task)).toBe(`You said ${said?.[1]}`);
    expect(new Set(answers)).toEqual(new Set([said?.[1]]));
  });

  verifies(["G10", "sdk-p5"], "cancel a task in the process that works on it", async () => {
    const aborted = Promise.withResolvers<void>();
    const { a, b } = await twoReplicas(
      {
        run: ({ signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => {
              aborted.resolve();
              reject(signal.reason as Error);
            });
          }),
      },
      aShared(),
    );
    const { id: taskId } = await a.send("go", {}, false);

    const canceled = await b.cancel(taskId);

    await aborted.promise;
    expect(canceled.status.state).toBe("canceled");
    expect((await a.get(taskId)).status.state).toBe("canceled");
  });

  verifies("G3", "leave a task alone on which the other one works", async () => {
    const release = Promise.withResolvers<void>();
    const shared = aShared();
    const agent = { run: async () => release.promise.then(() => "done") };
    const a = await TestReplica.start(shared, agent);
    const { id: taskId } = await a.send("go", {}, false);

    const b = await TestReplica.start(shared, agent);
    await new Promise((resolve) => setTimeout(resolve, 1200));
    expect((await b.get(taskId)).status.state).toBe("working");
    release.resolve();

    await expect.poll(() => b.state(taskId), { timeout: 20_000 }).toBe("completed");
  });

  verifies("G3", "take over the tasks of a process that is gone, from their journal", async () => {
    const runs: string[] = [];
    const hold = Promise.withResolvers<string>();
    const { a, b } = await twoReplicas(
      {
        run: async ({ step }) => {
          const one = await step("one", async () => {
            runs.push("one");
            return "1";
          });
          const two = await step(
            "two",
            async () => {
              runs.push("two");
              return runs.filter((run) => run === "two").length === 1 ? hold.promise : "2";
            },
            { idempotent: true },
          );
          return `${one}${two}`;
        },
      },
      aShared(),
    );
    const { id: taskId } = await a.send("go", {}, false);
    await expect.poll(() => runs, { timeout: 20_000 }).toEqual(["one", "two"]);

    a.crash();

    await expect.poll(() => b.state(taskId), { timeout: 20_000 }).toBe("completed");
    expect(textOf(await b.get(taskId))).toBe("12");
    expect(runs).toEqual(["one", "two", "two"]);
  });

  verifies("G3", "take over a task again whose next process is gone, too", async () => {
    let runs = 0;
    const shared = aShared();
    const agent: Partial<AgentDefinition> = {
      run: async ({ step }) =>
        step("work", () => (++runs < 3 ? new Promise<string>(() => undefined) : "done"), {
          idempotent: true,
        }),
    };
    const { a, b } = await twoReplicas(agent, shared);
    const { id: taskId } = await a.send("go", {}, false);
    await expect.poll(() => runs, { timeout: 20_000 }).toBe(1);
    a.crash();
    await expect.poll(() => runs, { timeout: 20_000 }).toBe(2);
    const c = await TestReplica.start(shared, agent);

    b.crash();

    await expect.poll(() => c.state(taskId), { timeout: 20_000 }).toBe("completed");
  });

  verifies(
    "G4",
    "stop the run of a process that was paused for longer than its lease, and its function does not find out",
    async () => {
      const go = Promise.withResolvers<void>();
      let left = 0;
      const { a, b } = await twoReplicas(
        {
          run: async function* ({ step }) {
            try {
              await step("begin", () => "begun");
              yield "first ";
              await go.promise;
              yield await step("end", () => "second");
            } finally {
              left += 1;
            }
          },
        },
        aShared(),
      );
      const { id: taskId } = await a.send("go", {}, false);
      await expect
        .poll(async () => textOf(await b.get(taskId)), { timeout: 20_000 })
        .toBe("first ");

      a.backend.isAlive = false;
      await expect
        .poll(async () => (await b.backend.tasks.get(taskId))!.epoch, { timeout: 20_000 })
        .toBeGreaterThan(1);
      a.backend.isAlive = true;
      go.resolve();

      await expect.poll(() => b.state(taskId), { timeout: 20_000 }).toBe("completed");
      expect(textOf(await b.get(taskId))).toBe("first second");
      expect(textOf(await a.get(taskId))).toBe("first second");
      expect(left).toBe(1);
    },
  );

  verifies(["G2", "sdk-p5"], "show the same log to readers of both", async () => {
    const go = Promise.withResolvers<void>();
    const { a, b } = await twoReplicas(
      {
        run: async function* () {
          for (let chunk = 0; chunk < 20; chunk++) yield `${chunk} `;
          await go.promise;
          for (let chunk = 20; chunk < 40; chunk++) yield `${chunk} `;
        },
      },
      aShared(),
    );
    const { id: taskId } = await a.send("go", {}, false);
    await expect.poll(async () => textOf(await a.get(taskId)), { timeout: 20_000 }).toContain("19");

    const reading = Promise.all([
      a.follow(taskId, "0"),
      b.follow(taskId, "0"),
      b.follow(taskId, "5"),
    ]);
    go.resolve();
    const [atA, atB, resumed] = await reading;

    expect(atB).toEqual(atA);
    expect(resumed).toEqual(atA.slice(5));
    expect(atA.length).toBeGreaterThan(40);
  });

  verifies("G2", "resume a stream while a read that began earlier goes on", async () => {
    const { agent, more } = aTwoChunkAgent();
    const { a, b } = await twoReplicas(agent, aShared());
    const message = userMessage("m1", "go");
    const { id: taskId } = await a.send("go", message, false);
    await expect.poll(async () => textOf(await a.get(taskId)), { timeout: 20_000 }).toBe("one ");
    const reads = holdReads(b.backend);
    const earlier = b.send("go", message, false);
    await reads.begun;
    more();
    await expect.poll(async () => textOf(await a.get(taskId)), { timeout: 20_000 }).toBe("one two");
    const { head } = (await a.backend.tasks.get(taskId))!;

    const resumed = sendStreamingMessage({ message } as Parameters<typeof sendMessage>[0], {
      ...b.call,
      lastEventId: String(head),
    });
    setImmediate(reads.release);

    expect(await resumed).toMatchObject({ after: head });
    await earlier;
  });

  verifies("G2", "resume a stream after events that only the other one has shown", async () => {
    const { agent, more } = aTwoChunkAgent();
    const { a, b } = await twoReplicas(agent, aShared());
    const { id: taskId } = await a.send("go", {}, false);
    await expect.poll(async () => textOf(await b.get(taskId)), { timeout: 20_000 }).toBe("one ");
    const release = holdCommits(a.backend);
    more();
    await expect.poll(async () => textOf(await b.get(taskId)), { timeout: 20_000 }).toBe("one two");
    const { head } = (await b.backend.tasks.get(taskId))!;

    const lastEventId = String(head);
    const resumed = subscribeToTask({ taskId }, { ...a.call, lastEventId });
    const shown = a.get(taskId);
    setImmediate(release);

    expect(await resumed).toMatchObject({ after: head });
    expect(textOf(await shown)).toBe("one two");
  });

  verifies("G6", "give a retried message the task of the first one", async () => {
    let runs = 0;
    const { a, b } = await twoReplicas(
      {
        run: async ({ step }) => {
          runs++;
          await step("wait", () => new Promise((resolve) => setTimeout(resolve, 200)));
          return "done";
        },
      },
      aShared(),
    );

    const [first, second] = await Promise.all([
      a.send("go", { messageId: "m1" }),
      b.send("go", { messageId: "m1" }),
    ]);

    expect(second.id).toBe(first.id);
    expect([first, second].map((task) => textOf(task))).toEqual(["done", "done"]);
    expect(runs).toBe(1);
  });

  verifies("G6", "pass a message to an agent that works in the other one, once", async () => {
    const { a, b } = await twoReplicas(
      {
        takesMessages: true,
        run: async ({ inbox }) => {
          const heard: string[] = [];
          while (heard.length < 3) {
            const { value } = await inbox.next();
            heard.push(textOf(value!));
          }
          return heard.join(", ");
        },
      },
      aShared(),
    );
    const { id: taskId } = await a.send("go", {}, false);

    await b.send("one", { taskId, messageId: "m1" }, false);
    await b.send("one", { taskId, messageId: "m1" }, false);
    await a.send("two", { taskId }, false);
    const task = await b.send("three", { taskId });

    expect(task.status.state).toBe("completed");
    expect(textOf(task)).toBe("one, two, three");
  });

  verifies("G3", "hand tasks over when one of them stops", async () => {
    let attempts = 0;
    const { a, b } = await twoReplicas(
      {
        run: async ({ step }) =>
          step("name", () => (++attempts === 1 ? new Promise<string>(() => undefined) : "Ann"), {
            idempotent: true,
          }),
      },
      aShared(),
    );
    const { id: taskId } = await a.send("go", {}, false);
    await expect.poll(() => attempts, { timeout: 20_000 }).toBe(1);

    await a.stop();

    await expect.poll(() => b.state(taskId), { timeout: 20_000 }).toBe("completed");
    expect(attempts).toBe(2);
  });

  verifies("G3", "wake a task whose process is gone", async () => {
    const { a, b } = await twoReplicas(
      { run: async ({ sleep: pause }) => pause(1500).then(() => "rested") },
      aShared(),
    );
    const { id: taskId } = await a.send("go", {}, false);
    await expect.poll(() => a.engine.tasks.running(), { timeout: 20_000 }).toEqual([]);

    a.crash();

    await expect.poll(() => b.state(taskId), { timeout: 20_000 }).toBe("completed");
    expect(textOf(await b.get(taskId))).toBe("rested");
  });

  verifies(
    "R10",
    "remember the last exchange of a conversation, whatever their clocks say",
    async () => {
      const shared = aShared();
      const agent = {
        run: async ({ conversation }: { conversation: readonly unknown[] }) =>
          `I remember ${conversation.length}`,
      };
      const a = await TestReplica.start(shared, agent, { now: () => Date.now() + 5000 });
      const b = await TestReplica.start(shared, agent);
      const { contextId } = await a.send("one");

      const second = await b.send("two", { contextId });

      expect(textOf(second)).toBe("I remember 2");
    },
  );

  verifies("G14", "count the tasks of both against the limit of an owner", async () => {
    const shared = aShared();
    const agent: Partial<AgentDefinition> = { run: async ({ ask }) => String(await ask("?")) };
    const limits = { limits: { openTasks: 3 } };
    const a = await TestReplica.start(shared, agent, limits);
    const b = await TestReplica.start(shared, agent, limits);
    for (const replica of [a, b, a]) await replica.send("go");

    // Each process counts what the other one has created with a delay of a second.
    const refusal = (): Promise<unknown> => b.send("go").then(() => "none", String);
    await expect.poll(refusal, { timeout: 20_000, interval: 300 }).toContain("openTasks");
  });

  verifies(
    "G12",
    "deliver each notification once, in order, and one goes on for the other",
    async () => {
      const webhook = await Webhook.start();
      const shared = aShared();
      const agent: Partial<AgentDefinition> = { run: async ({ ask }) => String(await ask("?")) };
      const options = { push: { allow: ["127.0.0.1"] } };
      const a = await TestReplica.start(shared, agent, options);
      const b = await TestReplica.start(shared, agent, options);
      const { id: taskId } = await a.send("go", {}, true, { url: webhook.url });
      const states = (): readonly string[] =>
        webhook.bodies.map(
          (body) => JSON.stringify(body).match(/"state":"([A-Z_a-z-]+)"/)?.[1] ?? "",
        );
      await expect.poll(() => states().at(-1), { timeout: 20_000 }).toMatch(/input.required/i);
      // A process that crashes before it has noted a delivery leaves it to the other one, again.
      const { head } = (await a.backend.tasks.get(taskId))!;
      await expect
        .poll(async () => (await a.backend.pushes.ofTask(taskId))[0]?.cursor, { timeout: 20_000 })
        .toBe(head);

      a.crash();
      await b.send("yes", { taskId });

      await expect.poll(() => states().at(-1), { timeout: 20_000 }).toMatch(/completed/i);
      const ids = webhook.arrivals.map(({ headers }) => headers["webhook-id"]);
      expect(ids).toEqual([...new Set(ids)]);
      expect(webhook.places).toEqual(webhook.places.toSorted((one, other) => one - other));
    },
  );

  verifies("G12", "deliver what takes the place of events that the database has lost", async () => {
    const webhook = await Webhook.start();
    const shared = new LossyMemory();
    const go = Promise.withResolvers<void>();
    let attempts = 0;
    const agent: Partial<AgentDefinition> = {
      run: async ({ ask, step }) => {
        await step("begin", () => "begun");
        await go.promise;
        return String(await ask(`Question ${++attempts}`));
      },
    };
    const a = await TestReplica.start(shared, agent, { push: { allow: ["127.0.0.1"] } });
    const { id: taskId } = await a.send("go", {}, false, { url: webhook.url });
    const asked = (): string => JSON.stringify(webhook.bodies.at(-1) ?? "");
    await webhook.hasReceived(1);
    const before = shared.state();
    go.resolve();
    await expect.poll(asked, { timeout: 20_000 }).toContain("Question 1");

    await shared.loseSince(before);

    await expect.poll(asked, { timeout: 20_000 }).toMatch(/Question [2-9]/);
    expect(await a.state(taskId)).toBe("input-required");
  });
});

describe("a paused task", () => {
  verifies("G3", "belongs to no process until it is resumed", async () => {
    let runs = 0;
    const { shared, a, b } = await twoReplicas({
      restart: true,
      run: () => (++runs === 1 ? new Promise<string>(() => undefined) : Promise.resolve("done")),
    });
    const { id: taskId } = await a.send("go", {}, false);
    await expect.poll(() => runs, { timeout: 20_000 }).toBe(1);

    pauseTask(a.engine, taskId);
    await expect.poll(() => shared.runBy.has(taskId), { timeout: 20_000 }).toBe(false);
    await resumePausedTask(b.engine, taskId, { owner: "ann" });

    await expect.poll(() => a.state(taskId), { timeout: 20_000 }).toBe("completed");
  });
});
