import { defineAgent } from "convoke";
import { setTimeout as sleep } from "node:timers/promises";
import { EXTENSIONS, textOf, textOfParts } from "@convoke/protocol";
import { beforeEach, describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { DIALECTS, type Dialect } from "./dialect.ts";
import { Gate } from "./gate.ts";
import { faultOf } from "./rpc.ts";
import { WireClient } from "./wire-client.ts";
import { useServer } from "./wire-server.ts";

let runs = 0;

/** Reports how often it was run in total. */
const counting = defineAgent({
  name: "Counting",
  description: "Counts its runs.",
  replies: true,
  async run({ text, reply }) {
    runs++;
    await sleep(50);
    if (text === "reply") return reply(`run ${runs}`);
    if (text === "long reply") return reply(`run ${runs} `.repeat(20_000));
    return `run ${runs}`;
  },
});

const server = useServer(counting, { idempotency: "always" });

const curious = useServer(
  defineAgent({
    name: "Asking",
    description: "Asks two questions.",
    run: async ({ ask }) => `${await ask("First?")}, ${await ask("Second?")}`,
  }),
);

const gates = new Map<string, Gate>();

const thinking = useServer(
  defineAgent({
    name: "Thinking",
    description: "Replies when it may.",
    replies: true,
    async run({ text, reply }) {
      await gates.get(text)?.opened;
      return reply("At last.");
    },
  }),
);

beforeEach(() => {
  runs = 0;
});

for (const dialect of DIALECTS) {
  const client = new WireClient(server, dialect);
  let messages = 0;
  const aMessageId = () => `m-${dialect.version}-${++messages}`;

  describe(`the same message again (${dialect.version})`, () => {
    verifies(["R12", "G6"], "gets the same task, and runs once", async () => {
      const message = { messageId: aMessageId() };

      const first = await client.sendTask("hello", { message });
      const second = await client.sendTask("hello", { message });

      expect(second).toEqual(first);
      expect(textOf(second)).toBe("run 1");
      expect(runs).toBe(1);
    });

    verifies(["R12", "G6"], "gets the same task if all are sent at once", async () => {
      const message = { messageId: aMessageId() };

      const tasks = await Promise.all(
        Array.from({ length: 10 }, () => client.sendTask("hello", { message })),
      );

      expect(new Set(tasks.map(({ id }) => id)).size).toBe(1);
      for (const task of tasks) expect(task).toEqual(tasks[0]);
      expect(runs).toBe(1);
    });

    for (const command of ["reply", "long reply"]) {
      verifies(["R12", "G6"], `gets the same direct message (${command})`, async () => {
        const message = { messageId: aMessageId() };

        const first = client.resultOf(await client.send(command, { message }));
        const second = client.resultOf(await client.send(command, { message }));
        const streamed = await (await client.stream(command, { message })).events();

        expect(first.kind).toBe("message");
        expect(second).toEqual(first);
        expect(streamed).toEqual([first]);
        expect(runs).toBe(1);
      });
    }

    verifies(["R12", "G6"], "joins the stream of the first", async () => {
      const message = { messageId: aMessageId() };
      const first = await client.stream("hello", { message });
      await first.take(1);

      const second = await client.stream("hello", { message });

      expect(await second.all).toEqual(await first.all);
      expect(runs).toBe(1);
    });

    verifies(["R12", "G6"], "may have another field order, or another version", async () => {
      const messageId = aMessageId();
      const other = new WireClient(server, otherThan(dialect));
      const fields = { metadata: { a: 1, b: { c: 2, d: 3 } }, referenceTaskIds: ["t"] };
      const shuffled = { referenceTaskIds: ["t"], metadata: { b: { d: 3, c: 2 }, a: 1 } };

      const first = await client.sendTask("hello", { message: { messageId, ...fields } });
      const second = await client.sendTask("hello", { message: { messageId, ...shuffled } });
      const third = await other.sendTask("hello", { message: { messageId, ...fields } });

      expect([second.id, third.id]).toEqual([first.id, first.id]);
      expect(runs).toBe(1);
    });
  });

  describe(`another message under the same id (${dialect.version})`, () => {
    for (const [what, text, fields] of [
      ["with another text", "goodbye", {}],
      ["with other metadata", "hello", { metadata: { a: 1 } }],
      ["in another context", "hello", { contextId: "elsewhere" }],
    ] as const) {
      verifies(["R12", "G6"], `${what} is rejected with the task that uses the id`, async () => {
        const messageId = aMessageId();
        const task = await client.sendTask("hello", { message: { messageId } });

        for (const verb of ["send", "stream"] as const) {
          const parts = [dialect.text(text)];
          const message = { messageId, role: dialect.user, parts, ...fields };
          const fault = faultOf(await client.call(verb, { message }));

          expect(fault).toMatchObject({ code: -32602, field: "message.messageId" });
          expect(fault.message).toContain(task.id);
          expect(fault.message).toContain("use a new messageId");
        }
        expect(runs).toBe(1);
        expect(await client.get(task.id)).toEqual(task);
      });
    }
  });
}

/** Asks, and then takes some time for the answer. */
const asking = defineAgent({
  name: "Asking",
  description: "Asks for a name.",
  async *run(turn) {
    const name = await turn.ask("What is your name?");
    runs++;
    for (const letter of name) {
      yield letter;
      await sleep(5);
    }
  },
});

describe("the same answer again", () => {
  const asker = useServer(asking, { idempotency: "always" });

  for (const dialect of DIALECTS) {
    const client = new WireClient(asker, dialect);
    const name = "Ann Example the Second";

    /** A waiting task, and the message that answers it. */
    const aQuestion = async () => {
      const { id: taskId } = await client.sendTask("hi");
      return { message: { taskId, messageId: `answer-${taskId}` } };
    };

    verifies(["R12", "G6"], `finds the task when it is done (${dialect.version})`, async () => {
      const answer = await aQuestion();

      const first = await client.sendTask(name, answer);
      const second = await client.sendTask(name, answer);

      expect(first.status.state).toBe("completed");
      expect(textOf(first)).toBe(name);
      expect(second).toEqual(first);
      expect(runs).toBe(1);
    });

    verifies(["R12", "G6"], `joins it while it is working (${dialect.version})`, async () => {
      const answer = await aQuestion();
      const first = await client.stream(name, answer);
      await first.take(4);

      const second = await client.stream(name, answer);
      const third = await client.sendTask(name, answer);

      expect(third.status.state).toBe("completed");
      expect(textOf(third)).toBe(name);
      expect((await second.all).at(-1)).toEqual((await first.all).at(-1));
      expect(runs).toBe(1);
    });

    verifies(
      ["R12", "G6"],
      `is one answer if all are sent at once (${dialect.version})`,
      async () => {
        const answer = await aQuestion();

        const tasks = await Promise.all(
          Array.from({ length: 10 }, () => client.sendTask(name, answer)),
        );

        for (const task of tasks) {
          expect(task.status.state).toBe("completed");
          expect(task).toEqual(tasks[0]);
        }
        expect(runs).toBe(1);
      },
    );

    verifies(["R12", "G6"], `is rejected with different content (${dialect.version})`, async () => {
      const answer = await aQuestion();
      const task = await client.sendTask(name, answer);

      const fault = faultOf(await client.send("Bob", answer));

      expect(fault).toMatchObject({ code: -32602, field: "message.messageId" });
      expect(fault.message).toContain(task.id);
      expect(await client.get(task.id)).toEqual(task);
    });
  }
});

function otherThan({ version }: Dialect): Dialect {
  return DIALECTS.find((dialect) => dialect.version !== version) as Dialect;
}

describe("a server that is not told otherwise", () => {
  const plain = useServer(counting);
  const strict = useServer(counting, { strict: true, idempotency: "always" });
  const active = { "a2a-extensions": EXTENSIONS.idempotency.uri };

  for (const dialect of DIALECTS) {
    verifies("G6", `takes a repeated id for a new message (${dialect.version})`, async () => {
      for (const server of [plain, strict]) {
        const client = new WireClient(server, dialect);
        const message = { messageId: `repeated-${dialect.version}` };

        const tasks = [
          await client.sendTask("hello", { message }),
          await client.sendTask("hello", { message }),
          await client.sendTask("other words", { message }),
        ];

        expect(new Set(tasks.map(({ id }) => id)).size).toBe(3);
      }
      expect(runs).toBe(6);
    });

    verifies("G6", `processes once what the extension asks for (${dialect.version})`, async () => {
      for (const server of [plain, strict]) {
        const client = new WireClient(server, dialect, active);
        const message = { messageId: `once-${dialect.version}` };

        const first = await client.sendTask("hello", { message });
        const again = await client.sendTask("hello", { message });
        const refused = await client.send("other words", { message });

        expect(again).toEqual(first);
        expect(faultOf(refused)).toMatchObject({ code: -32602, field: "message.messageId" });
      }
      expect(runs).toBe(2);
    });

    verifies(
      "G6",
      `keeps both messages of one id in the history (${dialect.version})`,
      async () => {
        const client = new WireClient(curious, dialect);
        const messageId = `twice-${dialect.version}`;
        const { id: taskId } = await client.sendTask("ask twice", { message: { messageId } });

        await client.sendTask("one", { message: { messageId, taskId } });
        const { history = [] } = await client.sendTask("two", { message: { messageId, taskId } });

        const said = history.filter(({ role }) => role === "user");
        expect(said.map(({ parts }) => textOfParts(parts))).toEqual(["ask twice", "one", "two"]);
      },
    );
  }
});

describe("a caller that does not wait for an agent that may reply without a task", () => {
  for (const dialect of DIALECTS) {
    verifies("R9", `gets the task while the agent thinks (${dialect.version})`, async () => {
      const client = new WireClient(thinking, dialect);
      const gate = new Gate();
      gates.set(dialect.version, gate);

      const task = await client.sendTask(dialect.version, { configuration: dialect.atOnce });
      gate.open();

      expect(["submitted", "working"]).toContain(task.status.state);
      await expect
        .poll(() => client.get(task.id), { timeout: 20_000 })
        .toMatchObject({
          status: { state: "completed", message: { parts: [{ text: "At last." }] } },
        });
    });
  }
});
