import { openRequestsOf } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { expect, test } from "vitest";
import { LoopWorld } from "../loop/a-loop-world.ts";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";
import { calls, resultsTold, statusText } from "../loop/scripts.ts";
import { aNotebook } from "./a-notebook.ts";
import { World, ours, published } from "./a-world.ts";
import { expectNoLeftovers } from "./marked-processes.ts";

expectNoLeftovers();

test("a model uses the tools of a server, and its sources are kept", async () => {
  const { servers } = new World({ everything: published("everything") });
  const model = scriptedModel([calls("everything__get-resource-links", { count: 1 }), "Done."]);
  const loop = new LoopWorld({ model, tools: await servers.tools() });

  const task = await loop.ask("go");

  expect(task.status.state).toBe("completed");
  expect(await loop.notes(task.id, "internal:tool-complete")).toMatchObject([
    {
      success: true,
      sources: [{ url: "demo://resource/dynamic/blob/1", title: "Blob Resource 1" }],
    },
  ]);
});

test("a tool that changes something waits for approval, under its own name", async () => {
  const { notes, read } = await aNotebook();
  const { servers } = new World({ helpful: ours("helpful-server", [], { NOTES: notes }) });
  const model = scriptedModel([calls("helpful__write"), "Done."]);
  const loop = new LoopWorld({ model, tools: await servers.tools() });

  const asked = await loop.ask("go");

  expect(asked.status.state).toBe("input-required");
  const [approval] = openApprovals(asked);
  expect(approval).toMatchObject({ title: "helpful: write", risk: "warning" });
  await expect(read()).rejects.toThrow("ENOENT");
  const done = await loop.ask([answerTo(approval!, { option: "once" })], { taskId: asked.id });
  expect(done.status.state).toBe("completed");
  expect(await read()).toBe("wrote\n");
});

test("a question of a server sets the task to input-required, and the answer continues the call", async () => {
  const { notes, read } = await aNotebook();
  const helpful = { ...ours("helpful-server", [], { NOTES: notes }), confirm: "never" } as const;
  const { servers } = new World({ helpful });
  const model = scriptedModel([calls("helpful__greet"), "Done."]);
  const loop = new LoopWorld({ model, tools: await servers.tools() });

  const asked = await loop.ask("go");

  expect(asked.status.state).toBe("input-required");
  expect(statusText(asked)).toContain("The MCP server helpful asks: What is your name?");
  const [question] = openRequestsOf(asked);
  const data = { requestId: question!.requestId, value: { name: "Ann" } };
  const done = await loop.ask([{ kind: "data", data }], { taskId: asked.id });
  expect(done.status.state).toBe("completed");
  expect(resultsTold(model.requests)).toEqual(["Hello, Ann!"]);
  expect(await read()).toBe("greets\n");
});

test("after a crash of the agent a question is still answered, with a new call", async () => {
  const { notes, read } = await aNotebook();
  const helpful = ours("helpful-server", [], { NOTES: notes, READS: "yes" });
  const before = new World({ helpful });
  const model = scriptedModel([calls("helpful__greet"), "Done."]);
  const loop = new LoopWorld({ model, tools: await before.servers.tools() });
  const asked = await loop.ask("go");

  await before.servers.close();
  const after = new World({ helpful });
  await loop.restart({ tools: await after.servers.tools() });
  const done = await loop.ask("Ann", { taskId: asked.id });

  expect(done.status.state).toBe("completed");
  expect(resultsTold(model.requests)).toEqual(["Hello, Ann!"]);
  expect(await read()).toBe("greets\ngreets\n");
});
