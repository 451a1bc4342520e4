import {
  CODER_DIALECTS,
  type Message,
  type StatusUpdateEvent,
  type Task,
  textOfParts,
} from "@convoke/protocol";
import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { calls } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import {
  type CoderClient,
  type CoderFrame,
  coderClient,
  dataIn,
  kindOf,
  saying,
  sending,
  taskIdIn,
} from "./a-coder-client.ts";
import { Workspace, codingAgent } from "./a-coding-agent.ts";

const WRITE = calls("write_file", { path: "/project/a.ts", content: "two\n" }, "c1");
const RUN = calls("run_command", { command: "npm test" }, "c2");

/** The settings in the first message of a client, which activate the dialect. */
const SETTINGS = {
  metadata: { coderAgent: { kind: "agent-settings", workspacePath: "/project" } },
} as const;

const begin = (client: CoderClient, text: string): Promise<readonly CoderFrame[]> =>
  client.stream({ ...saying(text), ...SETTINGS });

function statuses(frames: readonly CoderFrame[], callId: string): readonly unknown[] {
  return frames
    .map(dataIn)
    .filter(({ request }) => (request as { callId?: string } | undefined)?.callId === callId)
    .map(({ status }) => status);
}

const stateOf = ({ event }: CoderFrame): string => (event as StatusUpdateEvent).status.state;

describe("a client that is written for Gemini's coding agent", () => {
  verifies(
    ["R74", "seed-C22"],
    "is asked for two parallel approvals at once, and approves both in one message",
    async () => {
      const workspace = new Workspace();
      const model = scriptedModel([[WRITE, RUN], "Done."]);
      const client = await coderClient(codingAgent(model, { workspace }));

      const asked = await begin(client, "go");

      const pending = asked.filter((frame) => kindOf(frame) === "tool-call-confirmation");
      expect(pending.map(dataIn)).toMatchObject([
        {
          request: { callId: "c1", name: "write_file", args: { path: "/project/a.ts" } },
          status: "awaiting_approval",
          confirmationDetails: {
            type: "edit",
            title: "Write /project/a.ts",
            fileName: "a.ts",
            filePath: "/project/a.ts",
            fileDiff: expect.stringContaining("@@"),
            originalContent: "one\n",
            newContent: "two\n",
          },
        },
        {
          request: { callId: "c2", name: "run_command" },
          confirmationDetails: {
            type: "exec",
            title: "npm test",
            command: "npm test",
            rootCommand: "npm",
            rootCommands: ["npm"],
          },
        },
      ]);
      expect(asked.at(-1)?.event).toMatchObject({
        final: true,
        status: { state: "input-required" },
      });
      const taskId = taskIdIn(asked);
      const replies = ["c1", "c2"].map((callId) => ({ callId, outcome: "proceed_once" }));
      const done = await client.stream({ taskId, ...sending(...replies) });
      expect(statuses([...asked, ...done], "c1")).toEqual([
        "scheduled",
        "awaiting_approval",
        "awaiting_approval",
        "scheduled",
        "executing",
        "success",
      ]);
      const decided = done.filter((frame) => kindOf(frame) === "tool-call-confirmation");
      expect(decided.map((frame) => dataIn(frame)["outcome"])).toEqual([
        "proceed_once",
        "proceed_once",
      ]);
      expect(stateOf(done.at(-1)!)).toBe("completed");
      expect(workspace.files.get("/project/a.ts")).toBe("two\n");
      expect(workspace.commands).toEqual(["npm test"]);
    },
  );

  test("answers parallel approvals one by one, and the rest stays pending", async () => {
    const workspace = new Workspace();
    const model = scriptedModel([[WRITE, RUN], "Done."]);
    const client = await coderClient(codingAgent(model, { workspace }));
    const taskId = taskIdIn(await begin(client, "go"));

    const half = await client.stream({ taskId, ...sending({ callId: "c2", outcome: "cancel" }) });

    expect(statuses(half, "c2").at(-1)).toBe("cancelled");
    expect(statuses(half, "c1")).toEqual(["awaiting_approval"]);
    expect(stateOf(half.at(-1)!)).toBe("input-required");
    const done = await client.stream({
      taskId,
      ...sending({ callId: "c1", outcome: "proceed_once" }),
    });
    expect(stateOf(done.at(-1)!)).toBe("completed");
    expect(workspace.commands).toEqual([]);
  });

  test("gets the content that the user has edited into the file", async () => {
    const workspace = new Workspace();
    const client = await coderClient(codingAgent(scriptedModel([WRITE, "Done."]), { workspace }));
    const taskId = taskIdIn(await begin(client, "go"));

    const reply = { callId: "c1", outcome: "proceed_once", newContent: "three\n" };
    const done = await client.stream({ taskId, ...sending(reply) });

    expect(workspace.files.get("/project/a.ts")).toBe("three\n");
    const last = done.map(dataIn).findLast(({ status }) => status === "success");
    expect(last).toMatchObject({
      request: { args: { path: "/project/a.ts", content: "three\n" } },
      response: { resultDisplay: { originalContent: "one\n", newContent: "three\n" } },
    });
  });

  verifies(
    "R69",
    "is asked in spite of autoExecute unless the server grants it, and then is not asked",
    async () => {
      const settings = { kind: "agent-settings", workspacePath: "/project", autoExecute: true };
      const message = { ...saying("go"), metadata: { coderAgent: settings } };
      const ends = [false, true].map(async (mayAutoExecute) => {
        const model = scriptedModel([WRITE, "Done."]);
        const client = await coderClient(codingAgent(model, { mayAutoExecute }));
        return client.stream(message);
      });

      const [asked, done] = await Promise.all(ends);

      expect(stateOf(asked!.at(-1)!)).toBe("input-required");
      expect(stateOf(done!.at(-1)!)).toBe("completed");
      expect(done!.map(kindOf)).not.toContain("tool-call-confirmation");
      expect(statuses(done!, "c1")).toEqual(["scheduled", "executing", "success"]);
      const shown = { filePath: "/project/a.ts", originalContent: "one\n", newContent: "two\n" };
      expect(done!.map(dataIn)).toContainEqual(
        expect.objectContaining({
          response: expect.objectContaining({ resultDisplay: expect.objectContaining(shown) }),
        }),
      );
    },
  );

  test("answers a question of the agent, and the tool receives the answer", async () => {
    const script = [calls("ask_user", { question: "Which one?" }, "c1"), "Thanks."];
    const model = scriptedModel(script);
    const client = await coderClient(codingAgent(model));
    const asked = await begin(client, "go");
    expect(asked.map(dataIn)).toContainEqual(
      expect.objectContaining({
        confirmationDetails: {
          type: "ask_user",
          title: "ask_user",
          questions: [{ question: "Which one?", header: "ask_user", type: "text" }],
        },
      }),
    );

    const reply = { callId: "c1", outcome: "proceed_once", answers: { "0": "The first." } };
    const done = await client.stream({ taskId: taskIdIn(asked), ...sending(reply) });

    expect(stateOf(done.at(-1)!)).toBe("completed");
    const last = model.requests.at(-1)?.transcript.at(-1);
    expect(last).toMatchObject({ results: [{ output: { answer: "The first." } }] });
  });

  test("sends an image, and the model sees it", async () => {
    const model = scriptedModel(["A cat."]);
    const client = await coderClient(codingAgent(model));
    const file = { mimeType: "image/png", bytes: "iVBORw0KGgo=" };
    const parts: Message["parts"] = [
      { kind: "text", text: "What is it?" },
      { kind: "file", file },
    ];

    await client.stream({ parts, ...SETTINGS });

    expect(model.requests[0]?.transcript[0]).toMatchObject({ parts: [{}, { kind: "file", file }] });
  });
});

describe("text", () => {
  test("of an answer that broke off is sent again under another id", async () => {
    const half = [{ kind: "text", text: "Half" }, { kind: "cut" }] as const;
    const client = await coderClient(codingAgent(scriptedModel([half, "All of it."])));

    const frames = await begin(client, "go");

    const texts = new Map<string, string>();
    for (const { event } of frames.filter((frame) => kindOf(frame) === "text-content")) {
      const { messageId, parts } = (event as StatusUpdateEvent).status.message!;
      texts.set(messageId, (texts.get(messageId) ?? "") + textOfParts(parts));
    }
    expect([...texts.values()]).toEqual(["Half", "All of it."]);
  });

  test("of the user instead of an answer cancels the call, and the task goes on", async () => {
    const workspace = new Workspace();
    const model = scriptedModel([WRITE, "Then not."]);
    const client = await coderClient(codingAgent(model, { workspace }));
    const taskId = taskIdIn(await begin(client, "go"));

    const frames = await client.stream({ taskId, ...saying("Wait, use b.ts.") });

    expect(statuses(frames, "c1").at(-1)).toBe("cancelled");
    expect(stateOf(frames.at(-1)!)).toBe("completed");
    expect(workspace.files.get("/project/a.ts")).toBe("one\n");
  });
});

describe("live output", () => {
  test("arrives as what is new, while the task is working", async () => {
    const client = await coderClient(codingAgent(scriptedModel([RUN, "Done."])));
    const taskId = taskIdIn(await begin(client, "go"));

    const frames = await client.stream({
      taskId,
      ...sending({ callId: "c2", outcome: "proceed_once" }),
    });

    const output = frames.filter(({ event }) => event.kind === "artifact-update");
    expect(output.map(({ event }) => event)).toMatchObject([
      { artifact: { artifactId: "tool-c2-output", parts: [{ text: "tick 1\n" }] }, append: false },
      { artifact: { artifactId: "tool-c2-output", parts: [{ text: "tick 2\n" }] }, append: true },
    ]);
    const executing = frames.filter((frame) => dataIn(frame)["status"] === "executing");
    expect(executing.map(stateOf)).toEqual(["working"]);
  });
});

describe("a task in the dialect", () => {
  test("has the whole text, all tool calls and the output when message/send returns it", async () => {
    const script = [calls("fail", {}, "c1"), "blocking answer"];
    const client = await coderClient(codingAgent(scriptedModel(script)));

    const task = await client.send({ ...saying("go"), ...SETTINGS });

    expect(task.status).toMatchObject({
      state: "completed",
      message: { parts: [{ kind: "text", text: "blocking answer" }] },
    });
    expect(task.history).toMatchObject([
      { role: "user", parts: [{ text: "go" }] },
      { role: "agent", parts: [{ data: { request: { callId: "c1" }, status: "error" } }] },
    ]);
    expect(task.artifacts).toMatchObject([{ parts: [{ text: "blocking answer" }] }]);
  });

  test("is complete in tasks/get after a streamed turn", async () => {
    const client = await coderClient(codingAgent(scriptedModel([[WRITE, RUN], "Done."])));
    const taskId = taskIdIn(await begin(client, "go"));
    const replies = ["c1", "c2"].map((callId) => ({ callId, outcome: "proceed_once" }));
    await client.stream({ taskId, ...sending(...replies) });

    const { result } = await client
      .activating(CODER_DIALECTS.coderAgent)
      .rpc("tasks/get", { id: taskId });
    const task = result as Task;

    expect(task.status).toMatchObject({
      state: "completed",
      message: { parts: [{ text: "Done." }] },
    });
    expect(task.history?.map(dataIn).filter(({ status }) => status !== undefined)).toMatchObject([
      { request: { callId: "c1" }, status: "success", outcome: "proceed_once" },
      {
        request: { callId: "c2" },
        status: "success",
        response: { resultDisplay: "tick 1\ntick 2\n" },
      },
    ]);
    expect(task.artifacts?.map(({ artifactId }) => artifactId)).toEqual([
      "answer-1",
      "tool-c2-output",
    ]);
    const resubscribe = {
      jsonrpc: "2.0",
      id: 1,
      method: "tasks/resubscribe",
      params: { id: taskId },
    };
    const again = await client.with({ "last-event-id": "0" }).frames("/", resubscribe);
    expect(again.map(kindOf)).toContain("tool-call-update");
    const plain = await client.rpc("tasks/get", { id: taskId });
    expect(JSON.stringify(plain.result?.history)).not.toContain("awaiting_approval");
  });
});

describe("a reply", () => {
  const wrong: readonly (readonly [string, object, string])[] = [
    ["to an unknown call", { callId: "nobody", outcome: "cancel" }, "message.parts[0].data.callId"],
    [
      "with an unknown outcome",
      { callId: "c1", outcome: "maybe" },
      "message.parts[0].data.outcome",
    ],
    [
      "with the outcome of an editor but no content",
      { callId: "c1", outcome: "modify_with_editor" },
      "message.parts[0].data.newContent",
    ],
    [
      "with content for a call that takes none",
      { callId: "c2", outcome: "proceed_once", newContent: "x" },
      "message.parts[0].data.newContent",
    ],
    [
      "with an approval that is not a boolean",
      { kind: "tool-call-confirmation", toolCallId: "c1", approved: "false" },
      "message.parts[0].data.approved",
    ],
    [
      "with an option that a dangerous call does not offer",
      { callId: "c2", outcome: "proceed_always" },
      "message.parts[0].data.outcome",
    ],
  ];

  test("that does not fit is rejected with -32602 that names the field, and nothing runs", async () => {
    const workspace = new Workspace();
    const client = await coderClient(codingAgent(scriptedModel([[WRITE, RUN]]), { workspace }));
    const taskId = taskIdIn(await begin(client, "go"));

    for (const [what, data, field] of wrong) {
      const message = { kind: "message", role: "user", messageId: what, taskId, ...sending(data) };
      const { error } = await client.rpc("message/send", { message });
      expect(error, what).toMatchObject({ code: -32602 });
      expect(error?.message, what).toContain(field);
    }
    const { result } = await client.rpc("tasks/get", { id: taskId });
    expect(result?.status.state).toBe("input-required");
    expect(workspace.commands).toEqual([]);
  });

  test("that is sent again after a lost response is not a second decision", async () => {
    const workspace = new Workspace();
    const script = [RUN, calls("run_command", { command: "npm publish" }, "c3")];
    const agent = codingAgent(scriptedModel(script), { workspace });
    const client = await coderClient(agent, { idempotency: "always" });
    const taskId = taskIdIn(await begin(client, "go"));
    const reply = {
      taskId,
      messageId: "m2",
      ...sending({ callId: "c2", outcome: "proceed_once" }),
    };

    const first = await client.stream(reply);
    const again = await client.stream(reply);

    expect(again).toEqual(first);
    expect(workspace.commands).toEqual(["npm test"]);
  });
});

describe("the end of a turn", () => {
  verifies(
    "seed-C30",
    "is input-required with turnEndState, and the task goes on with its own words",
    async () => {
      const model = scriptedModel(["First.", "Second."]);
      const client = await coderClient(codingAgent(model, { turnEndState: "input-required" }));

      const first = await begin(client, "one");
      const taskId = taskIdIn(first);
      const second = await client.stream({ taskId, ...saying("two") });

      for (const frames of [first, second]) {
        expect(frames.at(-1)?.event).toMatchObject({
          final: true,
          status: { state: "input-required" },
        });
      }
      // The text is streamed once, and is not repeated at the end.
      expect(first.filter((frame) => JSON.stringify(frame).includes("First."))).toHaveLength(1);
      expect(model.requests[1]?.transcript).toMatchObject([
        { role: "user" },
        { role: "assistant", content: [{ text: "First." }] },
        { role: "user", parts: [{ text: "two" }] },
      ]);
    },
  );
});
