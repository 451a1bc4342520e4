import type { Task } from "@convoke/protocol";
import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { aGuardedTool } from "../approvals/a-guarded-tool.ts";
import { Client, servedAgent } from "../approvals/a-served-agent.ts";
import { calls, resultsTold } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import { CLIENT_TOOLS, READ_FILE, declaring, usesOf } from "./a-caller.ts";

const READING = calls("read_file", { path: "notes.txt" });

async function anAskingAgent() {
  const model = scriptedModel([READING, "Done."]);
  const agent = await servedAgent({ model });
  const client = new Client(agent, { "x-a2a-extensions": CLIENT_TOOLS });
  const asked = await client.send("go", declaring(READ_FILE));
  // The answer may come from another program, which knows no extensions.
  return { model, asked, client: new Client(agent) };
}

/** The answer in the form of the early documents. */
function toolResult(toolUseId: string): never[] {
  const result = { kind: "tool-result", toolUseId, result: { value: "buy milk" } };
  return [{ kind: "text", text: "Tool result:" }, result] as never[];
}

describe("a caller that uses the form of early documents", () => {
  verifies(
    "R58",
    "answers the task that it references with a part of the kind tool-result",
    async () => {
      const { model, asked, client } = await anAskingAgent();
      const [use] = usesOf(asked);

      const frames = await client.stream(toolResult(use?.toolUseId ?? ""), {
        referenceTaskIds: [asked.id],
      });

      expect(frames).toContain('"state":"completed"');
      expect(frames).toContain(`"taskId":"${asked.id}"`);
      expect(resultsTold(model.requests)).toEqual([{ value: "buy milk" }]);
    },
  );

  test("is rejected with the field if the task waits for something else", async () => {
    const { asked, client } = await anAskingAgent();

    const { error } = await client.trySend(toolResult("input-1"), {
      referenceTaskIds: [asked.id],
    });

    expect(error).toMatchObject({ code: -32602 });
    expect(error?.message).toContain(
      "message.parts[1].data.toolUseId is nothing that this task waits for",
    );
    expect(((await client.get(asked.id)) as Task).status.state).toBe("input-required");
  });
});

describe("a question to a 0.3 caller", () => {
  const ask = async (strict: boolean) => {
    const agent = await servedAgent({ model: scriptedModel([READING, "Done."]) }, { strict });
    const client = new Client(agent, { "x-a2a-extensions": CLIENT_TOOLS });
    const frames = await client.stream("go", declaring(READ_FILE));
    const [, taskId = ""] = /"id":"([^"]+)","contextId"/.exec(frames) ?? [];
    return { frames, task: JSON.stringify(await client.get(taskId)) };
  };

  verifies(
    "R57",
    "has an inputRequest in addition to its text, in streams and in tasks",
    async () => {
      const { frames, task } = await ask(false);
      const request =
        '"inputRequest":{"kind":"input-request","prompt":"Run read_file and send its result.",' +
        '"sensitive":false,"requestId":"call_1","name":"read_file","input":{"path":"notes.txt"}}';

      expect(frames).toContain(request);
      expect(task).toContain(request);
    },
  );

  verifies("R57", "has none in strict mode", async () => {
    const { frames, task } = await ask(true);

    expect(frames).toContain('"state":"input-required"');
    expect(frames + task).not.toContain("inputRequest");
  });
});

describe("an approval for a caller that uses the form of early documents", () => {
  const askFor = async (options: Parameters<typeof servedAgent>[1] = {}) => {
    const { guarded, ran } = aGuardedTool();
    const model = scriptedModel([calls("delete", { path: "a" }), "Done."]);
    const agent = await servedAgent({ model, tools: [guarded] }, options);
    const client = new Client(agent);
    const asked = await client.send("go");
    const { inputRequest } = asked.status.message as { readonly inputRequest?: unknown };
    return { asked, client, ran, inputRequest: inputRequest as { readonly requestId: string } };
  };
  const answer = (toolUseId: string, result: unknown): never[] =>
    [{ kind: "tool-result", toolUseId, result }] as never[];

  verifies("R57", "has an inputRequest with its id and options, unless strict", async () => {
    const { inputRequest } = await askFor();

    expect(inputRequest).toMatchObject({
      kind: "input-request",
      prompt: expect.stringContaining("Approve: "),
      sensitive: false,
      options: ["once", "conversation", "always", "reject"],
    });
    expect((await askFor({ strict: true })).inputRequest).toBeUndefined();
  });

  verifies(
    ["R58", "R59"],
    "is decided by a tool-result with that id and an option, and by nothing else",
    async () => {
      const { asked, client, ran, inputRequest } = await askFor();
      const { requestId } = inputRequest;
      const referenceTaskIds = [asked.id];

      const unfit = await client.trySend(answer(requestId, "perhaps"), { referenceTaskIds });
      const other = await client.trySend(answer("input-1", "once"), { referenceTaskIds });
      expect([unfit.error?.code, other.error?.code]).toEqual([-32602, -32602]);
      expect(unfit.error?.message).toContain("must answer with once, conversation, always, reject");
      expect(ran).toEqual([]);
      const done = await client.send(answer(requestId, { value: "once" }), { referenceTaskIds });

      expect(done.status.state).toBe("completed");
      expect(ran).toEqual([{ path: "a" }]);
    },
  );

  test("is rejected in the same way", async () => {
    const { asked, client, ran, inputRequest } = await askFor();

    const { requestId } = inputRequest;
    await client.send(answer(requestId, "reject: not that"), { taskId: asked.id });

    expect(ran).toEqual([]);
  });

  test("is not approved by a message with the role of the agent, if strict", async () => {
    const { asked, client, ran } = await askFor({ strict: true });

    const { error } = await client.trySend("approve", { taskId: asked.id, role: "agent" });

    expect(error?.code).toBe(-32602);
    expect(error?.message).toContain('message.role must be "user"');
    expect(ran).toEqual([]);
    expect((await client.get(asked.id)).status.state).toBe("input-required");
  });
});

describe("tools in another form", () => {
  test.each([
    [{ name: "a.b" }, ".tools[0].name"],
    [{ name: "a", inputSchema: { type: "array" } }, '.tools[0].inputSchema.type must be "object"'],
    [
      { name: "a", inputSchema: { properties: { b: { required: "c" } } } },
      '.tools[0].inputSchema.properties["b"].required must be a list of names',
    ],
  ])("are rejected immediately: %j", async (declared, problem) => {
    const agent = await servedAgent({ model: scriptedModel([]) });
    const client = new Client(agent, { "x-a2a-extensions": CLIENT_TOOLS });

    const { error } = await client.trySend("go", declaring(declared));

    expect(error?.code).toBe(-32602);
    expect(error?.message).toContain(problem);
  });
});
