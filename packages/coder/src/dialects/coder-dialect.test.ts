import { type StatusUpdateEvent, agentMessage } from "@convoke/protocol";
import { expect, test } from "vitest";
import { toDialect } from "./coder-dialect.ts";
import { coderAgent } from "./coder-agent.ts";

test("a stream that begins at the last event of a compacted log names its task", () => {
  const last: StatusUpdateEvent = {
    kind: "status-update",
    taskId: "t1",
    contextId: "c1",
    status: { state: "failed", message: agentMessage("m1", "Out of tokens.") },
    final: true,
  };

  expect(toDialect(coderAgent).stream().next(last, 7)).toMatchObject([
    { taskId: "t1", contextId: "c1", final: true, status: { state: "failed" } },
  ]);
});
