import type { Task } from "@convoke/protocol";
import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
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
  // Whoever answers may be another program, which knows nothing of extensions.
  return { model, asked, client: new Client(agent) };
}

/** The answer as early documents have it. */
function toolResult(toolUseId: string): never[] {
  const result = { kind: "tool-result", toolUseId, result: { value: "buy milk" } };
  return [{ kind: "text", text: "Tool result:" }, result] as never[];
}

describe("a caller in the words of early documents", () => {
  verifies(
    "R58",
    "answers the task that it refers to by a part of the kind tool-result",
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

  test("is refused with the field when the task waits for something else", async () => {
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

describe("a question to a caller of 0.3", () => {
  const ask = async (strict: boolean) => {
    const agent = await servedAgent({ model: scriptedModel([READING, "Done."]) }, { strict });
    const client = new Client(agent, { "x-a2a-extensions": CLIENT_TOOLS });
    const frames = await client.stream("go", declaring(READ_FILE));
    const [, taskId = ""] = /"id":"([^"]+)","contextId"/.exec(frames) ?? [];
    return { frames, task: JSON.stringify(await client.get(taskId)) };
  };

  verifies("R57", "has an inputRequest beside its words, in streams and in tasks", async () => {
    const { frames, task } = await ask(false);
    const request =
      '"inputRequest":{"kind":"input-request","prompt":"Run read_file and send its result.",' +
      '"sensitive":false,"requestId":"call_1","name":"read_file","input":{"path":"notes.txt"}}';

    expect(frames).toContain(request);
    expect(task).toContain(request);
  });

  verifies("R57", "has none where the server is strict", async () => {
    const { frames, task } = await ask(true);

    expect(frames).toContain('"state":"input-required"');
    expect(frames + task).not.toContain("inputRequest");
  });
});

describe("tools of another form", () => {
  test.each([
    [{ name: "a.b" }, ".tools[0].name"],
    [{ name: "a", inputSchema: { type: "array" } }, '.tools[0].inputSchema.type must be "object"'],
    [
      { name: "a", inputSchema: { properties: { b: { required: "c" } } } },
      '.tools[0].inputSchema.properties["b"].required must be a list of names',
    ],
  ])("are refused at the door: %j", async (declared, problem) => {
    const agent = await servedAgent({ model: scriptedModel([]) });
    const client = new Client(agent, { "x-a2a-extensions": CLIENT_TOOLS });

    const { error } = await client.trySend("go", declaring(declared));

    expect(error?.code).toBe(-32602);
    expect(error?.message).toContain(problem);
  });
});
