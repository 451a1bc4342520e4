import { defineAgent } from "convoke";
import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryBackend } from "@convoke/engine/memory";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import {
  A2AError,
  type AgentEvent,
  type Message,
  type StatusUpdateEvent,
  type Task,
  applyEvent,
  textOf,
  textOfParts,
  userMessage,
} from "@convoke/protocol";
import {
  type Backend,
  type CommitStep,
  type Engine,
  isSettled,
  sendMessage,
  sendStreamingMessage,
} from "@convoke/engine";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";
import { Reader } from "./a-reader.ts";
import { aServer, call } from "./a-server.ts";
import { World } from "./a-world.ts";
import { CALLER, tell } from "./an-engine.ts";
import { wrapBackend } from "./wrapped-backend.ts";

const CALL = { caller: CALLER, version: "1.0", trace: undefined } as const;

const never = (): Promise<never> => new Promise(() => undefined);

async function send(engine: Engine, message: Message, blocking: boolean): Promise<Task> {
  const options = { engine, agent: engine.agents.first, ...CALL, lastEventId: undefined };
  return (await sendMessage({ message, blocking }, options)) as Task;
}

async function stream(engine: Engine, message: Message, lastEventId?: string): Promise<Reader> {
  const options = { engine, agent: engine.agents.first, ...CALL, lastEventId };
  return new Reader(await sendStreamingMessage({ message, blocking: true }, options));
}

/** The states and texts of a stream, one line for each event. */
function outline({ frames }: Reader): readonly string[] {
  return frames.map(({ event }) => {
    if (event.kind === "task") return `task ${(event as Task).status.state}`;
    if (event.kind === "status-update") return (event as StatusUpdateEvent).status.state;
    return textOf(applyEvent({ ...EMPTY }, event));
  });
}

const EMPTY: Task = { kind: "task", id: "", contextId: "", status: { state: "working" } };

/** Repeats its input, and counts its runs. */
function anEchoingWorld(backend: Backend = createMemoryBackend()) {
  const runs: string[] = [];
  const world = new World(
    async function* ({ text, step }) {
      runs.push(text);
      yield `${text} `;
      await step("wait", () => new Promise((resolve) => setTimeout(resolve, 5)));
      yield "done";
    },
    { backend },
  );
  return { world, runs };
}

describe("a message that is sent a hundred times at once", () => {
  verifies(
    ["G6", "sdk-p6"],
    "runs the agent once, and every sender gets the same task",
    async () => {
      const { world, runs } = anEchoingWorld();
      const message = userMessage("m1", "hello");

      const taskIds = await Promise.all(
        Array.from({ length: 100 }, async (_, n) => {
          if (n % 3 < 2) return (await send(world.engine, message, n % 3 === 0)).id;
          const reader = await stream(world.engine, message);
          await reader.ended;
          expect(textOf(reader.fold())).toBe("hello done");
          return reader.fold().id;
        }),
      );

      expect(new Set(taskIds).size).toBe(1);
      expect(runs).toEqual(["hello"]);
      expect((await world.backend.tasks.list({ owner: "ann", limit: 10 })).total).toBe(1);
    },
  );

  verifies("G6", "runs it once even if the server dies in the middle", async () => {
    const effects: string[] = [];
    const world = new World(async ({ step, attempt }) => {
      await step("first", () => effects.push("first"));
      if (attempt === 1) await never();
      await step("second", () => effects.push("second"));
      return "done";
    });
    const message = userMessage("m1", "hello");
    const before = Array.from({ length: 100 }, () => tell(world.engine, "", message));
    const { live } = await before[0]!;
    const first = live.task.id;
    await world.hasEvent(first, "internal:step-end");

    await world.restart();
    const after = await Promise.all(
      Array.from({ length: 100 }, (_, n) => send(world.engine, message, n % 2 === 0)),
    );

    expect(new Set(after.map(({ id }) => id))).toEqual(new Set([first]));
    expect(textOf(await world.settled(first))).toBe("done");
    expect(effects).toEqual(["first", "second"]);
    expect((await world.backend.tasks.list({ owner: "ann", limit: 10 })).total).toBe(1);
  });

  verifies("G6", "answers a question once", async () => {
    const answers: string[] = [];
    const world = new World(async ({ ask }) => {
      answers.push(await ask("Who?"));
      return `hello ${await ask("And who else?")}`;
    });
    const { live } = await tell(world.engine, "go");
    const taskId = live.task.id;
    await live.until(isSettled);
    const message = { ...userMessage("m2", "Ann"), taskId };

    const accepted = await Promise.all(
      Array.from({ length: 100 }, () => tell(world.engine, "", message)),
    );
    await live.until(({ task }) => questionOf(task) === "And who else?");

    expect(new Set(accepted.map((each) => each.live.task.id))).toEqual(new Set([taskId]));
    expect(answers).toEqual(["Ann"]);
    const asked = (await world.events(taskId)).filter(({ kind }) => kind === "internal:message");
    expect(asked).toHaveLength(1);
  });
});

const questionOf = ({ status }: Task): string => textOfParts(status.message?.parts ?? []);

describe("a message that is sent again", () => {
  verifies("G6", "finds its task, whether the caller waits for it or not", async () => {
    const { world, runs } = anEchoingWorld();
    const message = userMessage("m1", "hello");
    const { id } = await send(world.engine, message, true);

    const waited = await send(world.engine, message, true);
    const unwaited = await send(world.engine, message, false);

    expect([waited.id, unwaited.id]).toEqual([id, id]);
    expect([textOf(waited), textOf(unwaited)]).toEqual(["hello done", "hello done"]);
    expect(runs).toEqual(["hello"]);
  });

  verifies(["G2", "G6"], "receives all events again, even if the task has ended", async () => {
    const { world, runs } = anEchoingWorld();
    const message = userMessage("m1", "hello");
    const first = await stream(world.engine, message);
    const during = await stream(world.engine, message);
    await Promise.all([first.ended, during.ended]);
    const after = await stream(world.engine, message);
    await after.ended;
    await world.restart();
    const afterRestart = await stream(world.engine, message);
    await afterRestart.ended;

    expect(textOf(first.fold())).toBe("hello done");
    expect(during.frames).toEqual(first.frames);
    expect(after.frames).toEqual(first.frames);
    expect(afterRestart.frames).toEqual(first.frames);
    expect(runs).toEqual(["hello"]);
  });

  verifies("G2", "with a cursor receives exactly the events after it", async () => {
    const { world } = anEchoingWorld();
    const message = userMessage("m1", "hello");
    const first = await stream(world.engine, message);
    await first.ended;

    for (const { id } of first.frames) {
      const again = await stream(world.engine, message, String(id));
      await again.ended;
      expect(again.frames).toEqual(first.frames.filter((frame) => frame.id > id));
    }
  });

  test("within a task receives its own turn again: the task at that time, and what followed", async () => {
    const world = new World(async function* ({ ask }) {
      yield "first ";
      const name = await ask("Who?");
      yield `hello ${name} `;
      const place = await ask("Where?");
      yield `in ${place}`;
    });
    const { live } = await tell(world.engine, "go", { messageId: "m1" });
    const taskId = live.task.id;
    await live.until(isSettled);
    const message = { ...userMessage("m2", "Ann"), taskId };
    const first = await stream(world.engine, message);
    await first.ended;
    const log = await world.events(taskId);
    const place = log.findIndex((event) => bringsMessage(event, "m2")) + 1;
    const withMessage = log.slice(0, place).reduce<Task | undefined>(applyEvent, undefined);

    const waiting = await stream(world.engine, message);
    await waiting.ended;
    await tell(world.engine, "Oslo", { taskId });
    await live.until(({ task }) => task.status.state === "completed");
    const ended = await stream(world.engine, message);
    await ended.ended;
    await world.restart();
    const restarted = await stream(world.engine, message);
    await restarted.ended;

    // The same turn, from its message to its end, without the answer to the next question.
    expect(outline(waiting)).toEqual([
      "task input-required",
      "working",
      "hello Ann ",
      "input-required",
    ]);
    expect(waiting.frames[0]).toEqual({ id: place, event: withMessage });
    expect(ended.frames).toEqual(waiting.frames);
    expect(restarted.frames).toEqual(waiting.frames);
    expect(first.frames.at(-1)).toEqual(waiting.frames.at(-1));
  });

  verifies("G6", "with different content is rejected, and the error says what to do", async () => {
    const { world, runs } = anEchoingWorld();
    const { id } = await send(world.engine, userMessage("m1", "hello"), true);

    const refused = [
      send(world.engine, userMessage("m1", "good bye"), true),
      send(world.engine, { ...userMessage("m1", "hello"), metadata: { more: 1 } }, false),
      stream(world.engine, userMessage("m1", "")),
    ];

    for (const each of refused) {
      const error = await each.then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      if (!A2AError.is(error)) throw new Error("it was taken");
      expect(error.row.code).toBe(-32602);
      expect(error.message).toContain(`of task ${id}; use a new messageId`);
    }
    expect(runs).toEqual(["hello"]);
  });
});

const BACKENDS: Readonly<Record<string, () => Promise<Backend>>> = {
  memory: async () => createMemoryBackend(),
  SQLite: () => openSqliteBackend({ folder: temporaryFolder() }),
};

describe.each(Object.entries(BACKENDS))("a messageId, in %s,", (_, open) => {
  verifies(["R12", "G6"], "can be used once by each owner, and each has its own task", async () => {
    const backend = await open();
    onTestFinished(() => backend.close());
    const { world, runs } = anEchoingWorld(backend);
    const message = userMessage("m1", "hello");
    const sendAs = async (owner: string, sent: Message): Promise<Task> => {
      const call = {
        engine: world.engine,
        agent: world.engine.agents.first,
        ...CALL,
        caller: { owner },
        lastEventId: undefined,
      };
      return (await sendMessage({ message: sent, blocking: true }, call)) as Task;
    };

    const ann = await sendAs("ann", message);
    const bob = await sendAs("bob", message);
    const again = [await sendAs("bob", message), await sendAs("ann", message)];

    expect(bob.id).not.toBe(ann.id);
    expect(again.map(({ id }) => id)).toEqual([bob.id, ann.id]);
    expect(runs).toEqual(["hello", "hello"]);
    // The content that one owner sent under an id does not restrict the other owner, only itself.
    await expect(sendAs("bob", userMessage("m1", "good bye"))).rejects.toThrow(
      `message.messageId was used for another message, of task ${bob.id}`,
    );
    const eve = await sendAs("eve", userMessage("m1", "good bye"));
    expect(textOf(eve)).toBe("good bye done");
  });
});

describe("a message whose first sender is notified last that it is stored", () => {
  verifies("G6", "has one task, and its retry waits for it", async () => {
    const memory = createMemoryBackend();
    let commits = 0;
    const backend = {
      ...wrapBackend(memory),
      commit: async (step: CommitStep) => {
        const isFirst = commits++ === 0;
        const committed = await memory.commit(step);
        if (isFirst) await sleep(30);
        return committed;
      },
    };
    const world = new World(async () => "done", { backend });
    const message = userMessage("m1", "hello");

    const first = send(world.engine, message, true);
    const retries = [
      send(world.engine, message, true),
      send(world.engine, message, false),
      stream(world.engine, message).then(async (reader) => {
        await reader.ended;
        return reader.fold();
      }),
    ];

    const tasks = await Promise.all([first, ...retries]);
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(1);
    expect([tasks[0], tasks[1], tasks[3]].map((task) => textOf(task!))).toEqual([
      "done",
      "done",
      "done",
    ]);
  });
});

describe("a message that was stored although the disk reported a failure", () => {
  verifies(["G3", "G6"], "has its task and its run, and so does its retry", async () => {
    const backend = wrapBackend(createMemoryBackend());
    const runs: string[] = [];
    const world = new World(
      async ({ text, ask }) => {
        runs.push(text);
        return `${text} ${await ask("Who?")}`;
      },
      { backend },
    );
    const hello = userMessage("m1", "hello");

    backend.loseNextAnswer();
    const first = await send(world.engine, hello, true);
    const answer = { ...userMessage("m2", "Ann"), taskId: first.id };
    backend.loseNextAnswer();
    const second = await send(world.engine, answer, true);

    expect(first.status.state).toBe("input-required");
    expect(textOf(second)).toBe("hello Ann");
    expect((await send(world.engine, hello, true)).id).toBe(first.id);
    expect((await send(world.engine, answer, true)).id).toBe(first.id);
    expect(runs).toEqual(["hello"]);
  });
});

describe("a message whose task was interrupted", () => {
  verifies(["G3", "G6"], "gets that task again, with its interrupted status", async () => {
    let runs = 0;
    const world = new World(async function* () {
      runs++;
      yield "half";
      await never();
    });
    const message = userMessage("m1", "hello");
    const { live } = await tell(world.engine, "", message);
    await world.hasEvent(live.task.id, "artifact-update");
    await world.restart();

    const waited = await send(world.engine, message, true);
    const unwaited = await send(world.engine, message, false);
    const streamed = await stream(world.engine, message);
    await streamed.ended;

    expect([waited.id, unwaited.id]).toEqual([live.task.id, live.task.id]);
    expect(waited.status.state).toBe("failed");
    expect(waited.status.message?.metadata).toEqual({ reason: "interrupted" });
    expect(questionOf(waited)).toBe("The server stopped while the agent was working on this task.");
    expect(streamed.frames.at(-1)?.event).toMatchObject({
      status: { state: "failed" },
      metadata: { reason: "interrupted" },
    });
    expect(runs).toBe(1);
  });
});

describe("the same message in both versions of A2A", () => {
  const parts03 = [
    { kind: "text", text: "look at this" },
    { kind: "file", file: { name: "a.txt", mimeType: "text/plain", bytes: "aGVsbG8=" } },
    { kind: "file", file: { uri: "https://example.com/b.txt" } },
    { kind: "data", data: { a: [1, { b: null }] }, metadata: { why: "because" } },
    { kind: "data", data: { value: 7 }, metadata: { data_part_compat: true } },
  ];
  const parts10 = [
    { text: "look at this" },
    { raw: "aGVsbG8=", mediaType: "text/plain", filename: "a.txt" },
    { url: "https://example.com/b.txt" },
    { metadata: { why: "because" }, data: { a: [1, { b: null }] } },
    { data: 7 },
  ];
  const facts = { messageId: "m1", contextId: "c1", metadata: { from: "test" } };
  const in03 = { kind: "message", role: "user", ...facts, parts: parts03 };
  /** Generated 1.0 clients also write empty fields. */
  const in10 = {
    ...facts,
    role: "ROLE_USER",
    parts: parts10,
    extensions: [],
    referenceTaskIds: [],
  };

  for (const order of ["0.3 first", "1.0 first"]) {
    verifies("G6", `is one message (${order})`, async () => {
      let runs = 0;
      const agent = defineAgent({
        name: "Counter",
        description: "Counts how often it is run.",
        run: () => `run ${++runs}`,
      });
      const { url } = await aServer(agent, createMemoryBackend());
      const by03 = () => call(url, "message/send", { message: in03 });
      const by10 = () => call(url, "SendMessage", { message: in10 });

      const answers =
        order === "0.3 first" ? [await by03(), await by10()] : [await by10(), await by03()];

      expect(answers.map(({ error }) => error)).toEqual([undefined, undefined]);
      expect(new Set(answers.map(taskIdOf)).size).toBe(1);
      expect(runs).toBe(1);
    });
  }

  verifies("G6", "with different content is rejected in both versions", async () => {
    const agent = defineAgent({ name: "Mute", description: "Says nothing.", run: () => undefined });
    const { url } = await aServer(agent, createMemoryBackend());
    const taskId = taskIdOf(await call(url, "message/send", { message: in03 }));

    const other10 = { ...in10, parts: [{ text: "look at that" }] };
    const other03 = { ...in03, parts: [{ kind: "text", text: "look at that" }] };
    const answers = [
      await call(url, "SendMessage", { message: other10 }),
      await call(url, "message/send", { message: other03 }),
    ];

    for (const { error } of answers) {
      expect(error?.code).toBe(-32602);
      expect(JSON.stringify(error)).toContain(taskId);
      expect(JSON.stringify(error)).toContain("use a new messageId");
    }
  });
});

/** 0.3 returns the task, 1.0 an object that contains it. */
function taskIdOf({ result }: { readonly result?: unknown }): string {
  const { id, task } = result as { readonly id?: string; readonly task?: { readonly id: string } };
  const taskId = task?.id ?? id;
  if (taskId === undefined) throw new Error(`no task: ${JSON.stringify(result)}`);
  return taskId;
}

function bringsMessage(event: AgentEvent, messageId: string): boolean {
  return (
    event.kind === "internal:message" &&
    (event as { readonly message: Message }).message.messageId === messageId
  );
}
