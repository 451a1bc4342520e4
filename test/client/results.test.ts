import { connect } from "@convoke/client";
import { describe, expect } from "vitest";
import { pagesV1, result, startFakeAgent } from "./fake-agent.ts";
import {
  aChunk,
  aStatus,
  aTask,
  anArtifact,
  frames,
} from "../../packages/client/src/run/a-stream.suite.ts";
import { verifies } from "../verifies.ts";

const said = (text: string) => ({ messageId: `m-${text}`, role: "ROLE_AGENT", parts: [{ text }] });

describe("the result of a task", () => {
  verifies(["v1-C7"], "is in its artifacts, regardless of other messages", async () => {
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: (call) =>
        result(
          call,
          aTask("COMPLETED", {
            artifacts: [anArtifact("the report")],
            history: [said("let me see"), said("I have it")],
            status: { state: "TASK_STATE_COMPLETED", message: said("done, as you wished") },
          }),
        ),
    });

    expect((await (await connect(agent.url)).send("a")).text).toBe("the report");
  });

  verifies(["v1-C7"], "needs no history, and no message of the agent", async () => {
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: (call) => result(call, aTask("COMPLETED", { artifacts: [anArtifact("the report")] })),
    });
    const { text, task } = await (await connect(agent.url)).send("a");

    expect(text).toBe("the report");
    expect(task?.history).toBeUndefined();
  });

  verifies(["v1-C7"], "is streamed without the status messages", async () => {
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: (call) =>
        frames(call, [
          aTask("SUBMITTED"),
          aStatus("WORKING", "let me see"),
          aChunk("the ", "a1", false),
          aStatus("WORKING", "still at it"),
          aChunk("report"),
          aStatus("COMPLETED", "done"),
        ]),
    });
    const run = (await connect(agent.url)).stream("a");
    let text = "";

    for await (const delta of run.text) text += delta;

    expect(text).toBe("the report");
    expect((await run.result).text).toBe("the report");
  });
});
