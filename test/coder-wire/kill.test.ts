import { expect, onTestFinished } from "vitest";
import { MortalServer } from "../harness/mortal-server.ts";
import { verifies } from "../verifies.ts";
import { CoderClient, dataIn, kindOf, taskIdIn } from "./a-coder-client.ts";

verifies(
  ["G3", "R31", "R73"],
  "after kill -9, a task without a message takes its first one, and a confirmation its answer",
  async () => {
    const script = new URL("./coding-server.ts", import.meta.url);
    const server = new MortalServer({ script });
    onTestFinished(() => server.close());
    const client = async () => new CoderClient((await server.url()).replace(/\/$/, ""));
    await server.start();
    const first = await client();
    const { json: taskId } = await first.post("/tasks", { contextId: "talk" });
    const asked = await first.frames("/message/stream", { userMessage: "go" });
    expect(kindOf(asked.at(-2)!)).toBe("tool-call-confirmation");

    await server.restart();

    const second = await client();
    const { json } = await second.get(`/tasks/${String(taskId)}/metadata`);
    expect(json).toMatchObject({ id: taskId, contextId: "talk", taskState: "submitted" });
    const begun = await second.frames("/message/stream", { taskId, userMessage: "go" });
    expect(dataIn(begun.at(-1)!)).toMatchObject({ kind: "state-change", state: "input-required" });
    const userMessage = { kind: "tool-call-confirmation", toolCallId: "c1", approved: true };
    const answer = { taskId: taskIdIn(asked), userMessage };
    const done = await second.frames("/message/stream", answer);
    const statuses = done.map(dataIn).flatMap(({ status }) => status ?? []);
    expect(statuses).toEqual(["EXECUTING", "SUCCEEDED"]);
    expect(dataIn(done.at(-1)!)).toEqual({ kind: "state-change", state: "completed" });
  },
  120_000,
);
