import { defineAgent } from "convoke";
import { EXTENSIONS, type PublicEvent, type Task, applyEvent } from "@convoke/protocol";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { DIALECTS, type Dialect } from "./dialect.ts";
import { Gate } from "./gate.ts";
import { faultOf } from "./rpc.ts";
import { outline } from "./story.ts";
import { WireClient } from "./wire-client.ts";
import { useServer } from "./wire-server.ts";
import { type Frame, eventsOf } from "./wire-stream.ts";

/** The task that the frames of a stream produce. */
function fold(events: readonly PublicEvent[]): Task | undefined {
  return events.reduce<Task | undefined>((task, event) => applyEvent(task, event), undefined);
}

function lastId(frames: readonly Frame[]): string {
  return frames.at(-1)?.id ?? "";
}

for (const dialect of DIALECTS) {
  describe(`resuming in ${dialect.version}`, () => {
    const server = useServer();
    const client = new WireClient(server, dialect);

    /** The whole log as this version streams it. */
    const logOf = async (taskId: string): Promise<readonly Frame[]> =>
      (await client.subscribe(taskId, "0")).all;

    verifies(["R42", "G2"], "in the middle returns exactly the missing frames", async () => {
      // Long enough that it has not ended when the second stream begins, on a busy machine, too.
      const first = await client.stream("slow 150");
      const { id: taskId } = await first.task(5);
      first.leave();
      const before = await first.all.catch(() => first.take(0));

      const second = await client.subscribe(taskId, lastId(before));
      await second.take(5);
      second.leave();
      const between = await second.all.catch(() => second.take(0));
      const third = await client.subscribe(taskId, lastId(between));

      const received = [...before, ...between, ...(await third.all)];
      expect(received).toEqual(await logOf(taskId));
      expect(outline(eventsOf(received, dialect)).at(-1)).toBe("status completed");
      expect(fold(eventsOf(received, dialect))).toEqual(await client.get(taskId));
    });

    verifies(
      ["R42", "G2"],
      "after the end returns the rest from any position, and closes",
      async () => {
        const whole = await (await client.stream("slow 5")).all;
        const { id: taskId } = eventsOf(whole, dialect)[0] as Task;

        for (const [place, { id }] of whole.entries()) {
          const rest = await (await client.subscribe(taskId, id)).all;

          expect(rest).toEqual(whole.slice(place + 1));
        }
        expect(await logOf(taskId)).toEqual(whole);
      },
    );

    verifies(["R42", "G2"], "passes over a question that was answered earlier", async () => {
      const { id: taskId } = await client.sendTask("ask");
      await client.sendTask("Ann", { message: { taskId } });

      const events = eventsOf(await logOf(taskId), dialect);

      expect(outline(events)).toEqual([
        "task submitted",
        "status working",
        "status input-required",
        "status working",
        "artifact Hello, Ann!",
        "status completed",
      ]);
    });

    verifies(["R42", "G2"], "works by sending the same message again", async () => {
      const active = { "a2a-extensions": EXTENSIONS.resumption.uri };
      const message = { messageId: `again-${dialect.version}` };
      const options = { message, headers: active };
      const first = await client.stream("slow 30", options);
      await first.take(6);
      first.leave();
      const before = await first.all.catch(() => first.take(0));

      const second = await client.stream("slow 30", {
        ...options,
        headers: { ...active, "last-event-id": lastId(before) },
      });
      const after = await second.all;
      const third = await client.stream("slow 30", {
        ...options,
        headers: { ...active, "last-event-id": lastId(before) },
      });

      const { id: taskId } = eventsOf(before, dialect)[0] as Task;
      expect([...before, ...after]).toEqual(await logOf(taskId));
      expect(await third.all).toEqual(after);
      expect(await (await client.stream("slow 30", options)).all).toEqual([...before, ...after]);
    });

    for (const cursor of ["999999", "99999999999999999999", "-1", "1.5", "abc", "1 2"]) {
      verifies(
        ["R42", "loop-L7", "seed-C18"],
        `with the unknown cursor ${cursor} starts over with a reset`,
        async () => {
          const running = await client.stream("slow 8");
          const { id: taskId } = await running.task(4);

          const resumed = await client.subscribe(taskId, cursor);
          const [snapshot, ...rest] = await resumed.all;

          const frames = await running.all;
          const first = eventsOf([snapshot as Frame], dialect)[0] as Task;
          expect(first).toMatchObject({
            kind: "task",
            id: taskId,
            metadata: { resumption: "reset" },
          });
          expect(rest).toEqual(frames.filter(({ id }) => Number(id) > Number(snapshot?.id)));
          const { metadata: _, ...folded } = fold([first, ...eventsOf(rest, dialect)]) as Task;
          expect(folded).toEqual(await client.get(taskId));
        },
      );
    }

    verifies(
      "R42",
      "a finished task with an unknown cursor returns the whole task, and closes",
      async () => {
        const task = await client.sendTask("slow 3");

        for (const cursor of ["1000", "garbage"]) {
          const stream = await client.subscribe(task.id, cursor);

          expect(await stream.events()).toEqual([{ ...task, metadata: { resumption: "reset" } }]);
        }
        // The reset marker is only in the stream, not in the task.
        expect(await client.get(task.id)).toEqual(task);
      },
    );

    verifies("G2", "with a cursor of the other version returns the same events", async () => {
      const other = new WireClient(server, otherThan(dialect));
      const stream = await other.stream("slow 10");
      const { id: taskId } = await stream.task(4);
      stream.leave();
      const before = await stream.all.catch(() => stream.take(0));

      const after = await (await client.subscribe(taskId, lastId(before))).all;

      const events = [...eventsOf(before, other.dialect), ...eventsOf(after, dialect)];
      expect(fold(events)).toEqual(await client.get(taskId));
    });
  });

  describe(`a question that was answered, in ${dialect.version}`, () => {
    const gate = new Gate();
    const asker = defineAgent({
      name: "Asker",
      description: "Asks, and then takes its time.",
      async *run(turn) {
        yield `Hello, ${await turn.ask("What is your name?")}. `;
        await gate.opened;
        yield "Goodbye.";
      },
    });
    const server = useServer(asker);
    const client = new WireClient(server, dialect);

    verifies(["R42", "G2"], "does not end a stream that resumes from before it", async () => {
      const { id: taskId } = await client.sendTask("hi");
      await client.send("Ann", { message: { taskId }, configuration: dialect.atOnce });

      const stream = await client.subscribe(taskId, "1");
      await stream.until(({ raw }) => raw.includes("Hello, Ann."));
      gate.open();

      expect(outline(await stream.events())).toEqual([
        "status working",
        "status input-required",
        "status working",
        "artifact Hello, Ann. ",
        "artifact Goodbye.",
        "artifact ",
        "status completed",
      ]);
    });
  });
}

describe("a subscription to a finished task without a cursor", () => {
  const server = useServer();
  const [v03, v1] = DIALECTS.map((dialect) => new WireClient(server, dialect)) as [
    WireClient,
    WireClient,
  ];

  for (const command of ["hello", "fail", "reject"]) {
    verifies("R42", `is the snapshot and the end in 0.3 (${command})`, async () => {
      const task = await v03.sendTask(command);

      expect(await (await v03.subscribe(task.id)).events()).toEqual([task]);
    });

    verifies("R42", `is -32004 in 1.0 (${command})`, async () => {
      const task = await v1.sendTask(command);

      const answer = await v1.call("subscribe", { id: task.id });

      expect(answer.headers.get("content-type")).toBe("application/json");
      expect(faultOf(answer)).toMatchObject({
        code: -32004,
        details: { taskId: task.id, state: task.status.state },
      });
    });
  }
});

describe("a subscription to a waiting task", () => {
  const server = useServer();

  for (const dialect of DIALECTS) {
    verifies("R42", `is the snapshot and then what follows (${dialect.version})`, async () => {
      const client = new WireClient(server, dialect);
      const task = await client.sendTask("ask");
      const stream = await client.subscribe(task.id);
      expect(await stream.task()).toEqual(task);

      await client.send("Ann", { message: { taskId: task.id } });

      expect(outline(await stream.events())).toEqual([
        "task input-required",
        "status working",
        "artifact Hello, Ann!",
        "status completed",
      ]);
    });
  }
});

function otherThan({ version }: Dialect): Dialect {
  return DIALECTS.find((dialect) => dialect.version !== version) as Dialect;
}
