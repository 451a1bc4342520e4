import { defineAgent } from "convoke";
import { type PublicEvent, type Task, isTerminal } from "@convoke/protocol";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { DIALECTS } from "./dialect.ts";
import { Gate } from "./gate.ts";
import { chunksOf, countTo, outline } from "./story.ts";
import { WireClient } from "./wire-client.ts";
import { useServer } from "./wire-server.ts";

for (const dialect of DIALECTS) {
  const { version } = dialect;

  describe(`a stream in ${version}`, () => {
    const server = useServer();
    const client = new WireClient(server, dialect);

    verifies(
      ["R33"],
      "is sent as server-sent events with headers that prevent proxy buffering",
      async () => {
        const stream = await client.stream("slow 2");

        expect(stream.status).toBe(200);
        expect(stream.headers.get("content-type")).toBe("text/event-stream");
        expect(stream.headers.get("cache-control")).toBe("no-cache");
        expect(stream.headers.get("connection")).toBe("keep-alive");
        expect(stream.headers.get("x-accel-buffering")).toBe("no");
        await stream.all;
      },
    );

    verifies(
      ["R37", "R38", "R39", "R40"],
      "sends the task, then its work, then chunks, then the end",
      async () => {
        const stream = await client.stream("slow 4");
        const events = await stream.events();

        expect(outline(events)).toEqual([
          "task submitted",
          "status working",
          "artifact 1 ",
          "artifact 2 ",
          "artifact 3 ",
          "artifact 4",
          "status completed",
        ]);
        const { id: taskId, contextId, history } = await stream.task();
        expect(history).toMatchObject([{ role: "user", parts: [{ text: "slow 4" }] }]);
        for (const event of events.slice(1)) expect(event).toMatchObject({ taskId, contextId });
        const chunks = chunksOf(events);
        expect(chunks.map(({ append }) => append)).toEqual([false, true, true, true]);
        expect(chunks.map(({ lastChunk }) => lastChunk === true)).toEqual([
          false,
          false,
          false,
          true,
        ]);
        expect(new Set(chunks.map(({ artifact }) => artifact.artifactId)).size).toBe(1);
      },
    );

    verifies("R30", "gives every status a timestamp, and timestamps never decrease", async () => {
      const events = await (await client.stream("slow 4")).events();

      const times = events.flatMap((event) => ("status" in event ? [event.status.timestamp] : []));
      expect(times.length).toBeGreaterThan(2);
      for (const time of times) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(times.map(String).toSorted()).toEqual(times);
    });

    verifies(
      ["R34", "R35", "seed-C18"],
      "is one complete response per frame, with an increasing id",
      async () => {
        const stream = await client.stream("slow 4");
        const frames = await stream.all;

        for (const { body, event } of frames) {
          expect(Object.keys(body)).toEqual(["jsonrpc", "id", "result"]);
          expect(body).toMatchObject({ jsonrpc: "2.0", id: 1 });
          expect(event).toBe("message");
        }
        const ids = frames.map(({ id }) => id);
        for (const id of ids) expect(id).toMatch(/^[1-9]\d*$/);
        expect(new Set(ids).size).toBe(ids.length);
        expect(ids.map(Number).toSorted((a, b) => a - b)).toEqual(ids.map(Number));
        expect(stream.raw).not.toContain("event:");
      },
    );

    verifies(["R35", "seed-C18"], "skips the numbers of internal events", async () => {
      const { id: taskId } = await client.sendTask("ask");
      await client.sendTask("Ann", { message: { taskId } });

      const frames = await (await client.subscribe(taskId, "0")).all;

      const ids = frames.map(({ id }) => Number(id));
      expect(ids[0]).toBe(1);
      expect(ids.at(-1)).toBeGreaterThan(ids.length);
    });

    verifies(["R37", "R59"], "of an answer starts with the current task", async () => {
      const { id: taskId } = await client.sendTask("ask");

      const events = await (await client.stream("Ann", { message: { taskId } })).events();

      expect(outline(events)).toEqual(["task working", "artifact Hello, Ann!", "status completed"]);
    });

    verifies("R43", "may be one message, and nothing else", async () => {
      const stream = await client.stream("message");
      const events = await stream.events();

      expect(outline(events)).toEqual([
        "message This is one message, and there is no task behind it.",
      ]);
      expect(events[0]).toMatchObject({ kind: "message", role: "agent" });
      expect(events[0]).not.toHaveProperty("taskId");
    });

    for (const [command, state] of [
      ["fail", "failed"],
      ["reject", "rejected"],
      ["ask", "input-required"],
    ] as const) {
      verifies(["R25", "R40"], `ends at ${state}`, async () => {
        const events = await (await client.stream(command)).events();

        expect(outline(events).at(-1)).toBe(`status ${state}`);
        expect(events.at(-1)).toMatchObject({ final: true });
        expect(events.filter(isFinalStatus)).toHaveLength(1);
      });
    }

    if (version === "1.0") {
      verifies(["R25", "seed-C14"], "stays open at auth-required", async () => {
        const stream = await client.stream("auth");
        const { id: taskId } = await stream.task(3);

        await client.send("I did", { message: { taskId } });

        expect(outline(await stream.events())).toEqual([
          "task submitted",
          "status working",
          "status auth-required",
          "status working",
          "artifact Thank you, you are in.",
          "status completed",
        ]);
      });
    } else {
      verifies(["R25", "seed-C14"], "ends at auth-required", async () => {
        const events = await (await client.stream("auth")).events();
        const [{ id: taskId }] = events as [Task];
        const subscribed = await client.subscribe(taskId, "0");
        const answered = await client.stream("I did", { message: { taskId } });

        expect(outline(events).at(-1)).toBe("status auth-required");
        expect(events.filter(isFinalStatus)).toEqual([events.at(-1)]);
        expect(await subscribed.events()).toEqual(events);
        expect(outline(await answered.events()).at(-1)).toBe("status completed");
      });
    }

    verifies("R32", "accepts the parameters of a send", async () => {
      const stream = await client.stream("hello", {
        configuration: { ...dialect.atOnce, historyLength: 1, acceptedOutputModes: ["text/plain"] },
        metadata: { from: "a test" },
        message: { metadata: { note: 1 }, referenceTaskIds: ["t0"], extensions: [] },
      });

      expect(outline(await stream.events()).at(-1)).toBe("status completed");
    });

    verifies(["G7"], "sends every reader the same frames in the same order", async () => {
      // Long enough that it has not ended when the next request comes, on a busy machine, too.
      const first = await client.stream("slow 150");
      const { id: taskId } = await first.task(4);
      const leaving = await client.subscribe(taskId, "0");
      const second = await client.subscribe(taskId, "0");
      const third = await client.subscribe(taskId);
      await leaving.take(5);

      leaving.leave();

      const frames = await first.all;
      expect(await second.all).toEqual(frames);
      const [snapshot, ...rest] = await third.all;
      expect(rest).toEqual(frames.filter(({ id }) => Number(id) > Number(snapshot?.id)));
    });

    verifies(["R42", "R111", "G10"], "that is dropped cancels nothing", async () => {
      const stream = await client.stream("slow 100");
      const { id: taskId } = await stream.task(4);

      stream.leave();

      await expect(stream.all).rejects.toThrow("abort");
      await expect
        .poll(async () => (await client.get(taskId)).status.state, { timeout: 20_000 })
        .toBe("completed");
      const { artifacts } = await client.get(taskId);
      expect(artifacts).toMatchObject([{ parts: [{ text: countTo(100) }] }]);
    });
  });

  describe(`an idle stream in ${version}`, () => {
    const gates = new Map<string, Gate>();
    const silent = defineAgent({
      name: "Silent",
      description: "Says nothing until it may.",
      async *run({ text }) {
        await gates.get(text)?.opened;
        yield "At last.";
      },
    });
    const server = useServer(silent, { keepAliveMs: 60 });
    const client = new WireClient(server, dialect);

    verifies("R41", "sends comments, and then continues", async () => {
      const gate = new Gate();
      gates.set("wait", gate);
      const stream = await client.stream("wait");

      await stream.until(({ comments }) => comments >= 3);
      gate.open();

      expect(outline(await stream.events())).toEqual([
        "task submitted",
        "status working",
        "artifact At last.",
        "artifact ",
        "status completed",
      ]);
      expect(stream.raw).toContain("\n\n: keep-alive\n\n");
    });
  });
}

function isFinalStatus(event: PublicEvent): boolean {
  return event.kind === "status-update" && (event.final || isTerminal(event.status.state));
}
