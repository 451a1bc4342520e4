import { expect, onTestFinished } from "vitest";
import { MortalServer } from "../harness/mortal-server.ts";
import { verifies } from "../verifies.ts";
import { CoderClient, dataIn, kindOf } from "./a-coder-client.ts";

verifies(
  ["G3", "R31", "R73"],
  "after kill -9, a task without a message takes its first one, and a confirmation its answer",
  async () => {
    const script = new URL("./coding-server.ts", import.meta.url);
    const server = new MortalServer({ script });
    onTestFinished(() => server.close());
    const client = async () => new CoderClient((await server.url()).replace(/\/$/, ""));
    await server.start();
    const { json: taskId } = await (await client()).post("/tasks", { contextId: "talk" });

    await server.restart();

    const second = await client();
    const { json } = await second.get(`/tasks/${String(taskId)}/metadata`);
    expect(json).toMatchObject({ id: taskId, contextId: "talk", taskState: "submitted" });
    const asked = await second.frames("/message/stream", { taskId, userMessage: "go" });
    expect(kindOf(asked.at(-2)!)).toBe("tool-call-confirmation");

    await server.restart();

    const userMessage = { kind: "tool-call-confirmation", toolCallId: "c1", approved: true };
    const done = await (await client()).frames("/message/stream", { taskId, userMessage });
    expect(done.map(dataIn).flatMap(({ status }) => status ?? [])).toEqual([
      "EXECUTING",
      "SUCCEEDED",
    ]);
    expect(dataIn(done.at(-1)!)).toEqual({ kind: "state-change", state: "completed" });
  },
  120_000,
);
