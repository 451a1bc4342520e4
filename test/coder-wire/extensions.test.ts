import {
  CODER_DIALECTS,
  EXTENSIONS,
  type Metadata,
  type PublicEvent,
  type StatusUpdateEvent,
} from "@convoke/protocol";
import { scriptedModel } from "@convoke/runtime/testing";
import { PLAN_NOTE } from "convoke/coder";
import { type Run, connect, tool } from "convoke";
import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { calls } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import {
  type CoderFrame,
  coderClient,
  dataIn,
  saying,
  sending,
  taskIdIn,
} from "./a-coder-client.ts";
import { Workspace, codingAgent } from "./a-coding-agent.ts";

const WRITE = calls("write_file", { path: "/project/a.ts", content: "two\n" }, "c1");
const RUN = calls("run_command", { command: "npm test" }, "c2");

/** The kinds of a stream under the URI of its extension. */
function kinds(frames: readonly CoderFrame[], uri: string): readonly string[] {
  return frames.flatMap(({ event }) => {
    const mark = event.metadata?.[uri] as { kind: string } | undefined;
    return mark === undefined ? [] : [mark.kind];
  });
}

/** A stream without consecutive repetitions, since texts arrive in chunks. */
function distinct(all: readonly string[]): readonly string[] {
  return all.filter((one, place) => one !== all[place - 1]);
}

describe("the development-tool extension", () => {
  const uri = CODER_DIALECTS.developmentTool;

  verifies("seed-C19", "has the whole tool call with every update, and its options", async () => {
    const workspace = new Workspace();
    const thought = { kind: "reasoning", text: "**Fix** it" } as const;
    const model = scriptedModel([[thought, WRITE, RUN], "Done."]);
    const served = await coderClient(codingAgent(model, { workspace }));
    const client = served.activating(uri);

    const asked = await client.stream(saying("go"));

    expect(asked[0]?.event).toMatchObject({ kind: "task", status: { state: "submitted" } });
    expect(kinds(asked, uri)).toEqual([
      "STATE_CHANGE",
      "THOUGHT",
      ...Array.from({ length: 4 }, () => "TOOL_CALL_UPDATE"),
      "STATE_CHANGE",
    ]);
    const edit = asked.map(dataIn).findLast(({ tool_call_id }) => tool_call_id === "c1");
    expect(edit).toEqual({
      tool_call_id: "c1",
      status: "PENDING",
      tool_name: "write_file",
      description: "Write /project/a.ts",
      input_parameters: { path: "/project/a.ts", content: "two\n" },
      confirmation_request: {
        options: ["once", "conversation", "always", "reject"].map((id) => ({
          id,
          name: expect.any(String),
          description: expect.any(String),
        })),
        file_edit_details: {
          file_name: "a.ts",
          file_path: "/project/a.ts",
          old_content: "one\n",
          new_content: "two\n",
          formatted_diff: expect.stringContaining("@@"),
        },
      },
    });
    const command = asked.map(dataIn).findLast(({ tool_call_id }) => tool_call_id === "c2");
    expect(command).toMatchObject({
      confirmation_request: {
        execute_details: { command: "npm test", working_directory: "/project" },
      },
    });
    const modified_details = { file_details: { new_content: "three\n" } };
    const done = await client.stream({
      taskId: taskIdIn(asked),
      ...sending(
        { tool_call_id: "c1", selected_option_id: "once", modified_details },
        { tool_call_id: "c2", selected_option_id: "once" },
      ),
    });
    const updates = done.map(dataIn);
    expect(updates).toContainEqual(
      expect.objectContaining({
        tool_call_id: "c1",
        status: "SUCCEEDED",
        output: { diff: expect.objectContaining({ file_path: "/project/a.ts" }) },
      }),
    );
    const live = updates.filter(({ tool_call_id }) => tool_call_id === "c2");
    expect(live.map(({ status, live_content }) => [status, live_content])).toEqual([
      ["EXECUTING", undefined],
      ["EXECUTING", "tick 1\n"],
      ["EXECUTING", "tick 1\ntick 2\n"],
      ["SUCCEEDED", "tick 1\ntick 2\n"],
    ]);
    expect(distinct(kinds(done, uri)).slice(-2)).toEqual(["TEXT_CONTENT", "STATE_CHANGE"]);
    expect(workspace.files.get("/project/a.ts")).toBe("three\n");
  });

  test("takes one of the offered options, and an unknown one is an error", async () => {
    const client = (await coderClient(codingAgent(scriptedModel([WRITE])))).activating(uri);
    const taskId = taskIdIn(await client.stream(saying("go")));
    const reply = sending({ tool_call_id: "c1", selected_option_id: "perhaps" });

    const message = { kind: "message", role: "user", messageId: "m2", taskId, ...reply };
    const { error } = await client.rpc("message/send", { message });

    expect(error).toMatchObject({ code: -32602 });
    expect(error?.message).toContain("message.parts[0].data.selected_option_id");
  });
});

describe("our own extension", () => {
  const { uri } = EXTENSIONS.coder;

  verifies("seed-C19", "has everything, marked with its kind", async () => {
    const plan = tool({
      name: "plan",
      description: "Plans.",
      run: function* () {
        const data = [{ content: "Write it", status: "in_progress" }];
        yield { kind: "tool:note", name: PLAN_NOTE, data } as const;
        return "ok";
      },
    });
    const model = scriptedModel([[calls("plan", {}, "c0"), WRITE], "Done."]);
    const agent = codingAgent(model, { tools: [plan] });
    const client = (await coderClient(agent)).activating(uri);

    const asked = await client.stream(saying("go"));

    const confirmed = asked.find(
      ({ event }) => (event.metadata?.[uri] as Metadata)?.["kind"] === "confirmation",
    );
    expect(confirmed && dataIn(confirmed)).toMatchObject({
      callId: "c1",
      name: "write_file",
      status: "PENDING",
      details: {
        type: "edit",
        filePath: "/project/a.ts",
        oldContent: "one\n",
        newContent: "two\n",
        contentArgument: "content",
      },
      confirmation: {
        kind: "approval",
        approval: { options: ["once", "conversation", "always", "reject", "edit"] },
      },
    });
    const reply = { callId: "c1", option: "reject", feedback: "not now" };
    const done = await client.stream({ taskId: taskIdIn(asked), ...sending(reply) });
    expect(new Set(kinds([...asked, ...done], uri))).toEqual(
      new Set(["state", "usage", "tool-call", "plan", "confirmation", "decision", "text"]),
    );
    const plans = asked.filter(
      ({ event }) => (event.metadata?.[uri] as Metadata)?.["kind"] === "plan",
    );
    expect(plans.map(dataIn)).toEqual([
      { entries: [{ content: "Write it", status: "in_progress" }] },
    ]);
    const rejected = done.map(dataIn).find(({ status }) => status === "CANCELLED");
    expect(rejected).toMatchObject({ error: expect.stringContaining("not now") });
  });
});

test("a client of Convoke follows a task in a dialect, and approves a call", async () => {
  const served = await coderClient(codingAgent(scriptedModel([[WRITE, RUN], "Done."])));
  const remote = await connect(served.url);
  onTestFinished(() => remote.close());
  const extensions = [EXTENSIONS.coder.uri];
  const kindsIn = (events: readonly PublicEvent[]) =>
    events.flatMap(
      ({ metadata }) => (metadata?.[EXTENSIONS.coder.uri] as Metadata)?.["kind"] ?? [],
    );

  const follow = async (run: Run) => {
    const events: PublicEvent[] = [];
    for await (const event of run) events.push(event);
    return { events, task: (await run.result).task };
  };

  const asked = await follow(remote.stream("go", { extensions }));
  const parts = ["c1", "c2"].map((callId) => {
    return { kind: "data", data: { callId, option: "once" } } as const;
  });
  const taskId = asked.task?.id ?? "";
  const done = await follow(remote.stream(parts, { taskId, extensions }));

  expect(kindsIn(asked.events).slice(-3)).toEqual(["confirmation", "confirmation", "state"]);
  expect(kindsIn(done.events)).toContain("text");
  expect(done.task?.status.state).toBe("completed");
});

describe("a dialect in 1.0", () => {
  test("begins every stream with the task, as 1.0 requires", async () => {
    const served = await coderClient(codingAgent(scriptedModel([WRITE, "Done."])));
    const client = served.with({ "a2a-version": "1.0", "a2a-extensions": EXTENSIONS.coder.uri });
    const stream = async (message: object) => {
      const params = { message: { role: "ROLE_USER", messageId: randomUUID(), ...message } };
      const body = { jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params };
      return (await client.frames("/", body)).map(({ event }) => event as unknown as Metadata);
    };

    const asked = await stream({ parts: [{ text: "go" }] });
    const { id: taskId } = asked[0]!["task"] as { id: string };
    const done = await stream({ taskId, parts: [{ data: { callId: "c1", option: "once" } }] });

    for (const [first, second] of [asked, done]) {
      expect(first).toHaveProperty("task");
      expect(second).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_WORKING" } } });
    }
    expect(done.at(-1)).toMatchObject({
      statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } },
    });
  });
});

describe("a caller that activates nothing", () => {
  verifies(
    "seed-C19",
    "sees plain A2A: the text as an artifact, and a question in words",
    async () => {
      const workspace = new Workspace();
      const model = scriptedModel([[{ kind: "reasoning", text: "Hm." }, WRITE], "All done."]);
      const client = await coderClient(codingAgent(model, { workspace }));

      const asked = await client.stream(saying("go"));

      expect(asked.map(({ event }) => event.kind)).toEqual([
        "task",
        "status-update",
        "status-update",
      ]);
      const { message } = (asked.at(-1)!.event as StatusUpdateEvent).status;
      expect(message?.parts.map(({ kind }) => kind)).toEqual(["text"]);
      const done = await client.stream({ taskId: taskIdIn(asked), ...saying("approve") });
      expect(distinct(done.map(({ event }) => event.kind))).toEqual([
        "task",
        "artifact-update",
        "status-update",
      ]);
      expect(JSON.stringify(done)).not.toContain("coderAgent");
      expect(workspace.files.get("/project/a.ts")).toBe("two\n");
    },
  );
});
