import { connect } from "@convoke/client";
import { type Agent, type ServedBeside, agentMessage } from "@convoke/protocol";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { agentId } from "./agent-id.ts";
import { defineAgent, serve } from "./index.ts";

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

/** An agent that has another one served beside it, which a test gets to see. */
function parent(): { readonly agent: Agent; readonly beside: Promise<ServedBeside> } {
  const beside = Promise.withResolvers<ServedBeside>();
  const agent: Agent = {
    info: defineAgent({ name: "parent", description: "Has a child.", run: () => "hello" }).info,
    run: async function* ({ id }) {
      yield agentMessage(id(), "hello");
    },
    prepare: ({ serveBeside }) => void serveBeside?.("echo", echo).then(beside.resolve),
    [Symbol.asyncDispose]: async () => (await beside.promise)[Symbol.asyncDispose](),
  };
  return { agent, beside: beside.promise };
}

test("an agent beside another one has tasks of its own, which belong to whoever it is called for", async () => {
  const data = aFolder();
  const { agent, beside } = parent();
  await using _server = await serve(agent, { port: 0, data });
  const { url, fetchFor } = await beside;

  const ann = await connect(url, { fetch: fetchFor("ann") });
  const { task } = await ann.send("hi");

  expect((await ann.list()).tasks.map(({ id }) => id)).toEqual([task?.id]);
  const ben = await connect(url, { fetch: fetchFor("ben") });
  expect((await ben.list()).tasks).toEqual([]);
  await expect(ben.get(task?.id ?? "")).rejects.toThrow("not found");
  expect(readdirSync(join(data, "agents"))).toEqual(["echo"]);
});

test("nobody else gets to it", async () => {
  const { agent, beside } = parent();
  await using _server = await serve(agent, { port: 0, data: "memory" });
  const { url } = await beside;

  await expect(connect(url)).rejects.toThrow();
});

test("an agent is known by the same id after a restart, and another one by another", async () => {
  const folder = aFolder();

  const id = await agentId("echo", folder);

  expect(await agentId("echo", folder)).toBe(id);
  expect(await agentId("echo", aFolder())).not.toBe(id);
  expect(await agentId("echo", undefined)).not.toBe(await agentId("echo", undefined));
});
