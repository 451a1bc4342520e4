import { TaskState } from "a2a-sdk-v1";
import { beforeAll, describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { useDemoServer } from "./demo-server.ts";
import type { SdkClient } from "./sdk-client.ts";
import { SDKS_V03 } from "./sdk-v03.ts";
import { SDKS_V1, SDK_V1, discoverV1 } from "./sdk-v1.ts";
import { asTask, countTo, textOfTask, collect } from "./story.ts";

for (const sdk of [...SDKS_V03, ...SDKS_V1]) {
  describe(sdk.name, () => {
    // 0.3.14 does not read the names of files over these transports.
    const isLossy = sdk.version === "0.3" && sdk.transport !== "JSONRPC";
    const server = useDemoServer();
    let client: SdkClient;

    beforeAll(async () => {
      client = await sdk.discover(server.url);
    });

    verifies(["R8", "R9", "R11"], "waits for the answer of a blocking send", async () => {
      const task = asTask(await client.send("slow 5"));

      expect(task.state).toBe("completed");
      expect(textOfTask(task)).toBe(countTo(5));
      expect(task.history[0]).toBe("slow 5");
      expect(task.contextId).not.toBe("");
    });

    verifies(["R9", "R15"], "sends without waiting and polls until it is done", async () => {
      const sent = asTask(await client.send("slow 20", { blocking: false }));

      expect(sent.state).toBe("working");
      await expect
        .poll(async () => (await client.get(sent.taskId)).state, { timeout: 20_000 })
        .toBe("completed");
      expect(textOfTask(await client.get(sent.taskId))).toBe(countTo(20));
    });

    verifies(["R57", "R59"], "answers a question on the same task", async () => {
      const asked = asTask(await client.send("ask"));

      expect(asked).toMatchObject({ state: "input-required", text: "What is your name?" });

      const { taskId, contextId } = asked;
      const answered = asTask(await client.send("Ann", { taskId, contextId }));

      expect(answered).toMatchObject({ taskId, contextId, state: "completed" });
      expect(textOfTask(answered)).toBe("Hello, Ann!");
      expect(answered.history).toEqual(["ask", "What is your name?", "Ann"]);
    });

    verifies("R11", "continues a conversation in a new task", async () => {
      const first = asTask(await client.send("one"));
      const second = asTask(await client.send("two", { contextId: first.contextId }));

      expect(second.taskId).not.toBe(first.taskId);
      expect(second.contextId).toBe(first.contextId);
      expect(textOfTask(second)).toContain("I remember 1 earlier message(s)");
    });

    verifies("R8", "gets a single message if there is no task", async () => {
      const answer = await client.send("message");

      expect(answer).toEqual({
        kind: "message",
        text: "This is one message, and there is no task behind it.",
      });
    });

    verifies("R28", "gets files and data unchanged", async () => {
      const { taskId, artifacts } = asTask(await client.send("artifact"));

      const [file, data] = artifacts;
      expect(file).toEqual({
        artifactId: "notes.txt",
        name: "notes.txt",
        parts: [
          {
            kind: "file",
            name: isLossy ? "" : "notes.txt",
            mediaType: "text/plain",
            content: "Made by the demo agent.\n",
          },
        ],
      });
      expect(data).toEqual({
        artifactId: "facts.json",
        name: "facts.json",
        parts: [{ kind: "data", data: { agent: "demo", answer: 42 } }],
      });
      expect((await client.get(taskId)).artifacts).toEqual(artifacts);
    });

    verifies("R25", "sees how a task failed", async () => {
      expect(await client.send("fail")).toMatchObject({
        state: "failed",
        text: "It failed, as you asked.",
      });
    });

    verifies("R25", "sees why a task was rejected", async () => {
      expect(await client.send("reject")).toMatchObject({
        state: "rejected",
        text: "I will not do that, as you asked.",
      });
    });

    verifies("R25", "gets a request for authorization, and continues after it", async () => {
      const waiting = asTask(await client.send("auth"));

      expect(waiting.state).toBe("auth-required");
      expect(waiting.text).toContain("Sign in");

      const { taskId } = waiting;
      const done = asTask(await client.send("I did", { taskId }));

      expect(done).toMatchObject({ taskId, state: "completed" });
      expect(textOfTask(done)).toBe("Thank you, you are in.");
    });

    verifies("R15", "reports an unknown task with the SDK's own error", async () => {
      await expect(client.get("no-such-task")).rejects.toBeInstanceOf(sdk.TaskNotFoundError);
      await expect(client.cancel("no-such-task")).rejects.toBeInstanceOf(sdk.TaskNotFoundError);
      await expect(client.send("hello", { taskId: "no-such-task" })).rejects.toBeInstanceOf(
        sdk.TaskNotFoundError,
      );
    });

    verifies("R32", "reads why a stream was rejected", async () => {
      const stream = collect(client.stream("hello", { taskId: "no-such-task" }));

      await expect(stream).rejects.toThrow(/no-such-task/);
    });
  });
}

/** The SDK's request has no optional fields, but unset ones are not sent. */
const EVERYTHING = {
  tenant: "",
  contextId: "",
  status: TaskState.TASK_STATE_UNSPECIFIED,
  pageToken: "",
  statusTimestampAfter: undefined,
};

describe("a list of tasks", () => {
  const server = useDemoServer();

  test("1.3.0 reads them page by page, newest first, and by state", async () => {
    const client = await discoverV1(server.url);
    const sender = await SDK_V1.discover(server.url);
    const sent: string[] = [];
    for (const text of ["one", "fail", "two"]) sent.push(asTask(await sender.send(text)).taskId);
    await sender.send("message");

    const first = await client.listTasks({ ...EVERYTHING, pageSize: 2 });
    const second = await client.listTasks({
      ...EVERYTHING,
      pageSize: 2,
      pageToken: first.nextPageToken,
    });
    const failed = await client.listTasks({ ...EVERYTHING, status: TaskState.TASK_STATE_FAILED });

    const tasks = [...first.tasks, ...second.tasks];
    const times = tasks.map(({ status }) => status?.timestamp ?? "");
    expect(tasks.map(({ id }) => id).toSorted()).toEqual(sent.toSorted());
    expect(times).toEqual(times.toSorted().toReversed());
    expect(first).toMatchObject({ pageSize: 2, totalSize: 3 });
    expect(second.nextPageToken).toBe("");
    expect(failed.tasks.map(({ id }) => id)).toEqual([sent[1]]);
  });
});
