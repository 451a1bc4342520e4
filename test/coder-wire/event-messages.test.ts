import { CoderAgentEvent } from "@convoke/coder";
import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { calls } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import { type CoderFrame, coderClient, dataIn, kindOf, taskIdIn } from "./a-coder-client.ts";
import { Workspace, codingAgent } from "./a-coding-agent.ts";

/** What each frame says, as the document of the routes lists it. */
function flow(frames: readonly CoderFrame[]): readonly string[] {
  return frames.map((frame) => {
    const { state, status, text } = dataIn(frame) as Record<string, string | undefined>;
    const kind = kindOf(frame);
    return kind === "text-content"
      ? `${kind}: ${text}`
      : [kind, state ?? status].filter(Boolean).join(": ");
  });
}

const WRITE = calls("write_file", { path: "/project/a.ts", content: "two\n" }, "c1");

describe("the flow of a guarded edit", () => {
  verifies(
    ["R75", "R73", "R72", "R76"],
    "is working, thought, PENDING, confirmation, input-required; then working, EXECUTING, SUCCEEDED, text, completed",
    async () => {
      const workspace = new Workspace();
      const thought = { kind: "reasoning", text: "**Plan** I'll create it." } as const;
      const model = scriptedModel([[thought, WRITE], "I've created it."]);
      const client = await coderClient(codingAgent(model, { workspace }));
      const created = await client.post("/tasks", {});
      const taskId = created.json as string;

      const asked = await client.frames("/message/stream", { taskId, userMessage: "create it" });

      expect(flow(asked)).toEqual([
        "state-change: working",
        "thought",
        "tool-call-update: PENDING",
        "tool-call-confirmation",
        "state-change: input-required",
      ]);
      expect(workspace.files.get("/project/a.ts")).toBe("one\n");
      const userMessage = { kind: "tool-call-confirmation", toolCallId: "c1", approved: true };
      const { contextId } = asked[0]!.event as { contextId: string };
      const done = await client.frames("/message/stream", { taskId, contextId, userMessage });
      const [texts, rest] = [true, false].map((isText) =>
        flow(done).filter((one) => one.startsWith("text-content") === isText),
      );
      expect(rest).toEqual([
        "state-change: working",
        "tool-call-update: EXECUTING",
        "tool-call-update: SUCCEEDED",
        "state-change: completed",
      ]);
      expect(texts!.map((one) => one.slice("text-content: ".length)).join("")).toBe(
        "I've created it.",
      );
      expect(flow(done).indexOf(texts![0]!)).toBe(3);
      expect(done.at(-1)?.event).toMatchObject({ final: true, status: { state: "completed" } });
      expect(workspace.files.get("/project/a.ts")).toBe("two\n");
    },
  );

  verifies(["R74", "R72"], "goes on with the call CANCELLED if it is rejected", async () => {
    const workspace = new Workspace();
    const model = scriptedModel([WRITE, "As you wish."]);
    const client = await coderClient(codingAgent(model, { workspace }));
    const asked = await client.frames("/message/stream", { userMessage: "create it" });
    const taskId = taskIdIn(asked);

    const userMessage = { kind: "tool-call-confirmation", toolCallId: "c1", approved: false };
    const done = await client.frames("/message/stream", { taskId, userMessage });

    expect(flow(done).slice(0, 2)).toEqual([
      "state-change: working",
      "tool-call-update: CANCELLED",
    ]);
    expect(flow(done).at(-1)).toBe("state-change: completed");
    expect(workspace.files.get("/project/a.ts")).toBe("one\n");
  });

  verifies(
    "R72",
    "ends with the call CANCELLED if the task is canceled while it runs",
    async () => {
      const workspace = new Workspace();
      const script = [calls("run_command", { command: "sleep" }, "c1")];
      const client = await coderClient(codingAgent(scriptedModel(script), { workspace }));
      const asked = await client.frames("/message/stream", { userMessage: "sleep" });
      const id = taskIdIn(asked);
      const userMessage = { kind: "tool-call-confirmation", toolCallId: "c1", approved: true };
      const following = client.frames("/message/stream", { taskId: id, userMessage });
      await workspace.running.promise;

      await client.rpc("tasks/cancel", { id });

      const frames = await following;
      expect(flow(frames)).toEqual([
        "state-change: working",
        "tool-call-update: EXECUTING",
        "tool-call-update: CANCELLED",
        "state-change: canceled",
      ]);
      // The task ends with its last event, not before.
      expect(frames.map(({ event }) => (event as { final: boolean }).final)).toEqual([
        false,
        false,
        false,
        true,
      ]);
      expect(frames[2]?.event).toMatchObject({ status: { state: "working" } });
    },
  );
});

verifies("R76", "a task can fail while it works, and be canceled while it waits", async () => {
  const refused = { kind: "error", status: 401, message: "no key" } as const;
  const failing = await coderClient(codingAgent(scriptedModel([refused])));
  const waiting = await coderClient(codingAgent(scriptedModel([WRITE])));

  const failed = await failing.frames("/message/stream", { userMessage: "go" });
  const asked = await waiting.frames("/message/stream", { userMessage: "go" });
  const { result } = await waiting.rpc("tasks/cancel", { id: taskIdIn(asked) });

  expect(flow(failed)).toEqual(["state-change: working", "state-change: failed"]);
  expect(result?.status.state).toBe("canceled");
});

describe("every kind of event", () => {
  verifies(["R67", "R68", "R70", "R71", "seed-C19"], "has the fields of its document", async () => {
    const model = scriptedModel([
      [
        { kind: "reasoning", text: "Look first. Then act." },
        { kind: "source", url: "https://example.com/spec", title: "Spec" },
        WRITE,
        calls("fail", {}, "c2"),
      ],
      "Done.",
    ]);
    const settings = {
      kind: "agent-settings",
      workspacePath: "/project",
      autoExecute: false,
    } as const;
    const client = await coderClient(codingAgent(model, { settings: () => settings }));
    const agentSettings = { workspacePath: "/etc", autoExecute: true };

    const asked = await client.frames("/message/stream", { userMessage: "go", agentSettings });
    const taskId = taskIdIn(asked);
    const userMessage = { kind: "tool-call-confirmation", toolCallId: "c1", approved: true };
    const done = await client.frames("/message/stream", { taskId, userMessage });

    const all = [...asked, ...done];
    expect(new Set(all.map(kindOf))).toEqual(new Set(Object.values(CoderAgentEvent)));
    const of = (kind: string) => all.filter((frame) => kindOf(frame) === kind).map(dataIn);
    expect(of("agent-settings")).toEqual([settings]);
    expect(of("thought")).toEqual([
      { kind: "thought", subject: "Look first.", description: "Look first. Then act." },
    ]);
    expect(of("citation")).toEqual([
      { kind: "citation", url: "https://example.com/spec", title: "Spec" },
    ]);
    const inputParameters = { path: "/project/a.ts", content: "two\n" };
    expect(of("tool-call-confirmation")).toEqual([
      {
        kind: "tool-call-confirmation",
        toolCallId: "c1",
        toolName: "write_file",
        inputParameters,
        confirmationRequest: { title: "Write /project/a.ts", prompt: "May I?", type: "warning" },
      },
    ]);
    const update = {
      kind: "tool-call-update",
      toolCallId: "c1",
      toolName: "write_file",
      inputParameters,
    };
    const failing = {
      kind: "tool-call-update",
      toolCallId: "c2",
      toolName: "fail",
      inputParameters: {},
    };
    expect(of("tool-call-update")).toEqual([
      { ...update, status: "PENDING" },
      { ...failing, status: "PENDING" },
      { ...failing, status: "EXECUTING" },
      { ...failing, status: "FAILED", error: expect.stringContaining("no such file") },
      { ...update, status: "EXECUTING" },
      { ...update, status: "SUCCEEDED", result: "Wrote /project/a.ts" },
    ]);
    expect(of("state-change").map(({ state }) => state)).toEqual([
      "working",
      "input-required",
      "working",
      "completed",
    ]);
    for (const { event, rpcId } of all) {
      expect(rpcId).toBeNull();
      expect(event).toMatchObject({
        kind: "status-update",
        taskId,
        status: { timestamp: expect.any(String) },
      });
    }
  });

  test("has the model that produced it, and no settings that are as the caller asked", async () => {
    const settings = { kind: "agent-settings", workspacePath: "/project" } as const;
    const client = await coderClient(
      codingAgent(scriptedModel(["Hi."]), { settings: () => settings }),
    );

    const frames = await client.frames("/message/stream", {
      userMessage: "hi",
      agentSettings: { workspacePath: "/project" },
    });

    expect(frames.map(kindOf)).not.toContain("agent-settings");
    expect(frames.at(-1)?.event.metadata).toMatchObject({ model: "scripted" });
  });
});
