import { RemoteAgent } from "@convoke/client/connection";
import { type Agent, type LocalAgent, agentMessage } from "@convoke/protocol";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { defineAgent, serve } from "../index.ts";

const echo = defineAgent({
  name: "echo",
  description: "Says what was said.",
  run: ({ text }) => `echo ${text}`,
});

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "convoke-beside-"));
  folders.push(folder);
  return folder;
}

/** An agent that runs another one in the same process, which a test can access. */
function parent(): { readonly agent: Agent; readonly beside: Promise<LocalAgent> } {
  const beside = Promise.withResolvers<LocalAgent>();
  const agent: Agent = {
    info: defineAgent({ name: "parent", description: "Has a child.", run: () => "hello" }).info,
    run: async function* ({ id }) {
      yield agentMessage(id(), "hello");
    },
    prepare: ({ runBeside }) => void runBeside?.("echo", echo).then(beside.resolve),
    [Symbol.asyncDispose]: async () => (await beside.promise)[Symbol.asyncDispose](),
  };
  return { agent, beside: beside.promise };
}

test("an agent in the same process has its own tasks, which belong to the caller that it works for", async () => {
  const data = aFolder();
  const { agent, beside } = parent();
  await using _server = await serve(agent, { port: 0, data });
  const child = await beside;

  const ann = new RemoteAgent(child.connect({ owner: "ann" }));
  const { task } = await ann.send("hi");

  expect((await ann.list()).tasks.map(({ id }) => id)).toEqual([task?.id]);
  const ben = new RemoteAgent(child.connect({ owner: "ben" }));
  expect((await ben.list()).tasks).toEqual([]);
  await expect(ben.get(task?.id ?? "")).rejects.toThrow("not found");
  expect(readdirSync(join(data, "agents"))).toEqual(["echo"]);
});

test("an agent has the same id after a restart, and another one has another", async () => {
  const idIn = async (data: string): Promise<string | undefined> => {
    let id: string | undefined;
    const agent: Agent = { ...echo, prepare: (environment) => (id = environment.id) };
    await using _server = await serve(agent, { port: 0, data });
    return id;
  };
  const folder = aFolder();

  const id = await idIn(folder);

  expect(id).toMatch(/^echo\/[0-9a-f-]{36}$/);
  expect(await idIn(folder)).toBe(id);
  expect(await idIn(aFolder())).not.toBe(id);
  expect(await idIn("memory")).not.toBe(await idIn("memory"));
});
