import { TaskNotCancelableError } from "a2a-sdk-v03/client";
import { UnsupportedOperationError } from "a2a-sdk-v1/errors";
import { beforeAll, describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useDemoServer } from "./demo-server.ts";
import { Reading } from "./reading.ts";
import type { SdkClient, Seen } from "./sdk-client.ts";
import { SDKS_V03, SDK_V03 } from "./sdk-v03.ts";
import { SDKS_V1, SDK_V1 } from "./sdk-v1.ts";
import { asTask, chunksOf, collect, countTo, outline, textOfChunks, textOfTask } from "./story.ts";

for (const sdk of [...SDKS_V03, ...SDKS_V1]) {
  describe(sdk.name, () => {
    // 0.3.14 reads neither `append` nor the names of files over these transports.
    const isLossy = sdk.version === "0.3" && sdk.transport !== "JSONRPC";
    const server = useDemoServer();
    let client: SdkClient;

    beforeAll(async () => {
      client = await sdk.discover(server.url);
    });

    verifies(["R37", "R39", "R40"], "streams the task, its work, chunks and the end", async () => {
      const seen = await collect(client.stream("slow 5"));

      expect(outline(seen)).toEqual([
        "task submitted",
        "status working",
        "artifact 1 ",
        "artifact 2 ",
        "artifact 3 ",
        "artifact 4 ",
        "artifact 5",
        "status completed",
      ]);
      expect(asTask(seen[0]).history).toEqual(["slow 5"]);
      const chunks = chunksOf(seen);
      const appends = [false, true, true, true, true];
      expect(chunks.map(({ append }) => append)).toEqual(isLossy ? appends.fill(false) : appends);
      expect(chunks.map(({ lastChunk }) => lastChunk)).toEqual([false, false, false, false, true]);
      expect(new Set(chunks.map(({ artifact }) => artifact.artifactId)).size).toBe(1);
    });

    verifies(["R57", "R59"], "streams a question, and the answer on the same task", async () => {
      const asking = await collect(client.stream("ask"));
      const { taskId } = asTask(asking[0]);
      const answering = await collect(client.stream("Ann", { taskId }));

      expect(outline(asking)).toEqual([
        "task submitted",
        "status working",
        "status input-required",
      ]);
      expect(asking.at(-1)).toMatchObject({ text: "What is your name?" });
      expect(outline(answering)).toEqual([
        "task working",
        "artifact Hello, Ann!",
        "status completed",
      ]);
      expect(asTask(answering[0])).toMatchObject({
        taskId,
        history: ["ask", "What is your name?", "Ann"],
      });
    });

    verifies("R43", "streams a single message if there is no task", async () => {
      const seen = await collect(client.stream("message"));

      expect(outline(seen)).toEqual([
        "message This is one message, and there is no task behind it.",
      ]);
    });

    verifies("R28", "streams files and data unchanged", async () => {
      const seen = await collect(client.stream("artifact"));

      expect(chunksOf(seen).flatMap(({ artifact }) => artifact.parts)).toEqual([
        {
          kind: "file",
          name: isLossy ? "" : "notes.txt",
          mediaType: "text/plain",
          content: "Made by the demo agent.\n",
        },
        { kind: "data", data: { agent: "demo", answer: 42 } },
        { kind: "text", text: "One file and one record." },
      ]);
    });

    verifies("R40", "streams a failure and a rejection to their end", async () => {
      const failing = await collect(client.stream("fail"));
      const refusing = await collect(client.stream("reject"));

      expect(failing.at(-1)).toMatchObject({ state: "failed", text: "It failed, as you asked." });
      expect(refusing.at(-1)).toMatchObject({
        state: "rejected",
        text: "I will not do that, as you asked.",
      });
    });

    const isKept = sdk.version === "1.0";
    verifies(
      ["R25", "seed-C14"],
      `${isKept ? "stays on" : "leaves"} the stream while authorization is given`,
      async () => {
        const reading = new Reading(client.stream("auth"));
        const isAsked = (seen: readonly Seen[]) => outline(seen).includes("status auth-required");
        const waiting = await (isKept ? reading.until(isAsked) : reading.all);
        const { taskId } = asTask(waiting[0]);

        const done = asTask(await client.send("I did", { taskId }));

        expect(outline(await reading.all)).toEqual([
          "task submitted",
          "status working",
          "status auth-required",
          ...(isKept
            ? ["status working", "artifact Thank you, you are in.", "status completed"]
            : []),
        ]);
        expect(done.state).toBe("completed");
      },
    );

    verifies("R16", "cancels a task in the middle of its stream", async () => {
      const reading = new Reading(client.stream("slow 200"));
      const begun = await reading.until((seen) => chunksOf(seen).length >= 3);
      const { taskId } = asTask(begun[0]);

      const canceled = await client.cancel(taskId);

      const seen = await reading.all;
      expect(canceled).toMatchObject({ taskId, state: "canceled" });
      expect(outline(seen).at(-1)).toBe("status canceled");
      expect(chunksOf(seen).length).toBeLessThan(200);
      // The stored text equals the streamed text, to the last chunk.
      expect(textOfTask(await client.get(taskId))).toBe(textOfChunks(seen));
    });

    verifies(["R42", "G7"], "joins a stream in the middle and misses nothing", async () => {
      // Long enough that it has not ended when the next request comes, on a busy machine, too.
      const first = new Reading(client.stream("slow 150"));
      const begun = await first.until((seen) => chunksOf(seen).length >= 3);

      const joined = await collect(client.subscribe(asTask(begun[0]).taskId));

      const [snapshot, ...rest] = joined;
      expect(asTask(snapshot).state).toBe("working");
      expect(textOfTask(asTask(snapshot)) + textOfChunks(rest)).toBe(countTo(150));
      expect(chunksOf(rest).length).toBeGreaterThan(0);
      expect(textOfChunks(await first.all)).toBe(countTo(150));
      expect(tailOf(joined)).toEqual(tailOf(await first.all));
    });

    verifies(["R42", "R111"], "leaves a stream without stopping its task", async () => {
      const leave = new AbortController();
      const reading = new Reading(client.stream("slow 20", { signal: leave.signal }));
      const begun = await reading.until((seen) => chunksOf(seen).length >= 3);
      const { taskId } = asTask(begun[0]);

      leave.abort();

      await expect(reading.all).rejects.toThrow(/abort|cancel/i);
      await expect
        .poll(async () => (await client.get(taskId)).state, { timeout: 20_000 })
        .toBe("completed");
      expect(textOfTask(await client.get(taskId))).toBe(countTo(20));
    });
  });
}

describe("where the versions differ", () => {
  const server = useDemoServer();

  verifies("R40", "0.3 marks the final status", async () => {
    const client = await SDK_V03.discover(server.url);

    const asking = await collect(client.stream("ask"));
    const done = await collect(client.stream("slow 2"));

    expect(finals(asking)).toEqual(["working false", "input-required true"]);
    expect(finals(done)).toEqual(["working false", "completed true"]);
  });

  verifies("R42", "a subscription to a finished task is a snapshot in 0.3", async () => {
    const client = await SDK_V03.discover(server.url);
    const { taskId } = asTask(await client.send("hello"));

    const seen = await collect(client.subscribe(taskId));

    expect(seen).toEqual([await client.get(taskId)]);
  });

  verifies("R42", "a subscription to a finished task is an error in 1.0", async () => {
    const client = await SDK_V1.discover(server.url);
    const { taskId } = asTask(await client.send("hello"));

    await expect(collect(client.subscribe(taskId))).rejects.toBeInstanceOf(
      UnsupportedOperationError,
    );
  });

  // 0.3.14 does not look into an answer that is no stream, so its user never learns the code.
  verifies("R42", "0.3.14 reads why a subscription was refused", async () => {
    const client = await SDK_V03.discover(server.url);

    await expect(collect(client.subscribe("no-such-task"))).rejects.toThrow("Task not found: ");
  });

  verifies("R42", "1.3.0 has an error of its own for it", async () => {
    const client = await SDK_V1.discover(server.url);

    await expect(collect(client.subscribe("no-such-task"))).rejects.toBeInstanceOf(
      SDK_V1.TaskNotFoundError,
    );
  });

  verifies("R16", "a second cancel is an error in 0.3 and the same task in 1.0", async () => {
    const v03 = await SDK_V03.discover(server.url);
    const v1 = await SDK_V1.discover(server.url);
    const { taskId } = asTask(await v03.send("slow 200", { blocking: false }));
    const canceled = await v03.cancel(taskId);

    await expect(v03.cancel(taskId)).rejects.toBeInstanceOf(TaskNotCancelableError);
    expect(await v1.cancel(taskId)).toEqual(canceled);
  });
});

/** The `final` flags of the statuses of a stream. */
function finals(seen: readonly Seen[]): readonly string[] {
  return seen.flatMap((event) =>
    event.kind === "status" ? [`${event.state} ${event.final}`] : [],
  );
}

/** The last events of a stream, which every reader of the task must agree on. */
function tailOf(seen: readonly Seen[]): readonly Seen[] {
  return seen.slice(-5);
}
