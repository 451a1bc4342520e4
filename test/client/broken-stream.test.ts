import { connect } from "@convoke/client";
import { expect } from "vitest";
import { type Call, failure, pagesV03, result, startFakeAgent } from "./fake-agent.ts";
import { frames } from "../../packages/client/src/run/a-stream.suite.ts";
import { verifies } from "../verifies.ts";

// What a 0.3 agent sends about task t1, as on the wire.
const ids = { taskId: "t1", contextId: "c1" };
const task = (state: string, text?: string) => ({
  kind: "task",
  id: "t1",
  contextId: "c1",
  status: { state },
  ...(text !== undefined && {
    artifacts: [{ artifactId: "a1", parts: [{ kind: "text", text }] }],
  }),
});
const chunk = (text: string, append: boolean) => ({
  kind: "artifact-update",
  ...ids,
  artifact: { artifactId: "a1", parts: [{ kind: "text", text }] },
  append,
});
const completed = { kind: "status-update", ...ids, status: { state: "completed" }, final: true };

const methodsOf = (seen: readonly { readonly call: Call | undefined }[]) =>
  seen.flatMap(({ call }) => call?.method ?? []);

verifies(["v03-C7"], "after a broken 0.3 stream the client resubscribes", async () => {
  const agent = await startFakeAgent({
    pages: pagesV03(),
    answer: (call) =>
      call.method === "message/stream"
        ? frames(call, [task("working"), chunk("Hel", false)], { end: "broken" })
        : frames(call, [task("working", "Hel"), chunk("lo", true), completed]),
  });
  const run = (await connect(agent.url)).stream("a");
  let text = "";

  for await (const delta of run.text) text += delta;

  expect(text).toBe("Hello");
  expect((await run.result).task?.status.state).toBe("completed");
  expect(methodsOf(agent.seen)).toEqual(["message/stream", "tasks/resubscribe"]);
});

verifies(
  ["v03-C7"],
  "if a 0.3 agent no longer offers the stream, the client gets the task",
  async () => {
    const agent = await startFakeAgent({
      pages: pagesV03(),
      answer: (call) => {
        if (call.method === "message/stream")
          return frames(call, [task("working"), chunk("Hel", false)], { end: "broken" });
        if (call.method === "tasks/get") return result(call, task("completed", "Hello"));
        return failure(call, { code: -32004, message: "the task has ended" });
      },
    });
    const remote = await connect(agent.url);

    const answer = await remote.stream("a").result;

    expect(answer.text).toBe("Hello");
    expect(answer.task?.status.state).toBe("completed");
    expect(methodsOf(agent.seen)).toEqual(["message/stream", "tasks/resubscribe", "tasks/get"]);
  },
);
