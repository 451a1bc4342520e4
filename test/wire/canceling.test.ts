import { defineAgent } from "convoke";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { DIALECTS } from "./dialect.ts";
import { faultOf } from "./rpc.ts";
import { chunksOf, outline } from "./story.ts";
import { WireClient } from "./wire-client.ts";
import { useServer } from "./wire-server.ts";

/** Ignores its signal and never stops emitting. */
const stubborn = defineAgent({
  name: "Stubborn",
  description: "Goes on whatever happens.",
  async *run() {
    for (let chunk = 1; chunk <= 2000; chunk++) {
      yield `${chunk} `;
      await sleep(5);
    }
  },
});

/** Emits an event even after it was aborted. */
const grudging = defineAgent({
  name: "Grudging",
  description: "Has a last word.",
  async *run({ signal, fail }) {
    yield "Working. ";
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    yield "I was not done. ";
    return fail("Now it has failed.");
  },
});

for (const dialect of DIALECTS) {
  const { version, atOnce } = dialect;

  describe(`a cancel in ${version}`, () => {
    const server = useServer();
    const client = new WireClient(server, dialect);

    verifies("R16", "ends a working task", async () => {
      const stream = await client.stream("slow 1000");
      const { id } = await stream.task(5);

      const canceled = await client.cancel(id);

      const events = await stream.events();
      expect(canceled).toMatchObject({ id, status: { state: "canceled" } });
      expect(outline(events).at(-1)).toBe("status canceled");
      expect(chunksOf(events).length).toBeLessThan(1000);
      expect(await client.get(id)).toEqual(canceled);
    });

    for (const command of ["ask", "auth"]) {
      verifies("R16", `ends a task that waits for its caller (${command})`, async () => {
        const { id } = await client.sendTask(command);

        expect((await client.cancel(id)).status.state).toBe("canceled");
        expect(faultOf(await client.send("Ann", { message: { taskId: id } })).code).toBe(-32004);
      });
    }

    verifies("R16", "returns the task again in 1.0, and is -32002 in 0.3", async () => {
      const { id } = await client.sendTask("slow 1000", { configuration: atOnce });
      const canceled = await client.cancel(id);

      const again = await client.call("cancel", { id });

      if (version === "1.0") {
        expect(dialect.codec.decodeTask(JSON.parse(again.text).result)).toEqual(canceled);
      } else {
        expect(faultOf(again)).toMatchObject({
          code: -32002,
          details: { taskId: id, state: "canceled" },
        });
      }
      expect(await client.get(id)).toEqual(canceled);
    });

    for (const [command, state] of [
      ["hello", "completed"],
      ["fail", "failed"],
      ["reject", "rejected"],
    ] as const) {
      verifies(["R16", "G5"], `is -32002 for a task that has ${state}`, async () => {
        const task = await client.sendTask(command);

        const answer = await client.call("cancel", { id: task.id });

        expect(answer.status).toBe(200);
        expect(faultOf(answer)).toMatchObject({
          code: -32002,
          details: { taskId: task.id, state },
        });
        expect(await client.get(task.id)).toEqual(task);
      });
    }

    verifies("R16", "sent many times at once ends the task once", async () => {
      const { id } = await client.sendTask("slow 1000", { configuration: atOnce });

      const answers = await Promise.all(
        Array.from({ length: 8 }, () => client.call("cancel", { id })),
      );

      const canceled = answers.filter(({ text }) => text.includes('"result"'));
      expect(canceled.length).toBeGreaterThan(0);
      for (const { text } of answers) {
        expect(text.includes('"result"') || text.includes("-32002")).toBe(true);
      }
      const log = await (await client.subscribe(id, "0")).events();
      expect(outline(log).filter((line) => line === "status canceled")).toHaveLength(1);
      expect(outline(log).at(-1)).toBe("status canceled");
    });
  });

  describe(`a cancel in ${version} that the agent ignores`, () => {
    const server = useServer(stubborn);
    const client = new WireClient(server, dialect);

    verifies(["R16", "G5", "G10"], "still ends the task permanently", async () => {
      const stream = await client.stream("go");
      const { id } = await stream.task(10);

      const canceled = await client.cancel(id);
      const events = await stream.events();
      // The agent keeps emitting, but its output is dropped.
      await sleep(300);

      expect(canceled.status.state).toBe("canceled");
      expect(outline(events).at(-1)).toBe("status canceled");
      expect(await client.get(id)).toEqual(canceled);
      expect(await (await client.subscribe(id, "0")).events()).toEqual(events);
    });
  });

  describe(`a cancel in ${version} during which the agent fails`, () => {
    const server = useServer(grudging);
    const client = new WireClient(server, dialect);

    verifies(["R16", "G5"], "is still the final state of the task", async () => {
      const { id } = await client.sendTask("go", { configuration: atOnce });

      const canceled = await client.cancel(id);

      expect(canceled.status.state).toBe("canceled");
      expect(await client.get(id)).toEqual(canceled);
    });
  });
}
