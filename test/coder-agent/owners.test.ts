import { type Task, textOfParts } from "@convoke/protocol";
import type { Model, ModelRequest } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { apiKeys, createApiKey } from "@convoke/server";
import { createHash } from "node:crypto";
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { CoderClient } from "../coder-wire/a-coder-client.ts";
import { resultsTold } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import { type TestFolder, aFolder, inContext, serveCoder } from "./a-coder.ts";

// Two callers of one server, who use the same contextId. What one of them gets in the context of
// the other must be what it gets in a context that nobody has used.

/** Makes the call that a message has, and answers "Done."; answers other messages at once. */
function obedientModel(): Model & { readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    id: "obedient",
    requests,
    stream: (request, signal) => {
      requests.push(request);
      const last = request.transcript.at(-1);
      const part = last?.role === "user" ? last.parts.at(-1) : undefined;
      const isCall = part?.kind === "text" && part.text.startsWith("{");
      const step = isCall ? { kind: "tool-call", ...JSON.parse(part.text) } : "Done.";
      return scriptedModel([step]).stream(request, signal);
    },
  };
}

async function twoCallers(folder: TestFolder) {
  const model = obedientModel();
  const keys = [
    ...["ann", "bob"].map((owner) => createApiKey({ name: owner, owner })),
    createApiKey({ name: "ops", owner: "ops", scopes: ["convoke:operate"] }),
  ];
  const client = await serveCoder(folder, {
    model,
    policy: { mode: "ask", maxMode: "auto-edit" },
    serve: { auth: [apiKeys({ keys: keys.map(({ record }) => record) })] },
  });
  const [ann, bob, ops] = keys.map(({ key }) => client.with({ "x-api-key": key }));
  return { ann: ann!, bob: bob!, ops: ops!, model };
}

function write(path: string, content: string): string {
  return JSON.stringify({ toolName: "write_file", input: { path, content } });
}

async function answer(client: CoderClient, contextId: string, text: string): Promise<string> {
  const { artifacts = [], status } = await client.send(inContext(contextId, text));
  const parts = artifacts.flatMap((artifact) => artifact.parts);
  return `${status.state}: ${textOfParts([...parts, ...(status.message?.parts ?? [])])}`;
}

/** What a command says through its route. The name of the context may be in it. */
async function executed(client: CoderClient, contextId: string, command: string) {
  const { status, text } = await client.post("/executeCommand", { command, contextId });
  return { status, text: text.replaceAll(contextId, "CONTEXT") };
}

async function modeOf(client: CoderClient, { id }: Task): Promise<unknown> {
  const { json } = await client.get(`/tasks/${id}/metadata`);
  return (json as { readonly mode?: unknown }).mode;
}

verifies(
  "G13",
  "a caller finds in the context of another caller what it finds in an unused one",
  async () => {
    const folder = aFolder();
    const { ann, bob, model } = await twoCallers(folder);
    await answer(ann, "talk", "/mode auto-edit");
    await answer(ann, "talk", write("a.txt", "written by ann"));
    await answer(ann, "talk", "/sessions rename Secret plan");
    const ofAnn = model.requests.length;

    for (const command of ["usage", "restore list", "diff", "sessions list", "memory", "mcp"]) {
      const [theirs, unused] = [
        await executed(bob, "talk", command),
        await executed(bob, "unused", command),
      ];
      expect(theirs, command).toEqual(unused);
    }
    for (const text of [
      "/usage",
      "/mode",
      "/model",
      "/undo",
      "/diff",
      "/compact",
      "/restore list",
      "/sessions delete never-used",
      "hello",
      "/usage",
      write("b.txt", "from bob"),
      "/mode auto-edit",
      write("a.txt", "two\n"),
    ]) {
      const [theirs, unused] = [await answer(bob, "talk", text), await answer(bob, "unused", text)];
      expect(theirs, text).toBe(unused);
    }

    expect(resultsTold(model.requests).at(-1)).toContain("has not been read in this conversation");
    expect(JSON.stringify(model.requests.slice(ofAnn))).not.toContain("written by ann");
    expect(readFileSync(join(folder.root, "a.txt"), "utf8")).toBe("written by ann");
  },
);

verifies(
  "G13",
  "a caller changes nothing in the session of another caller with the same contextId",
  async () => {
    const folder = aFolder();
    const { ann, bob } = await twoCallers(folder);
    await answer(ann, "talk", "/mode auto-edit");
    await answer(ann, "talk", write("a.txt", "one\n"));
    await answer(ann, "talk", "/sessions rename Secret plan");

    const [mine, theirs] = [
      await bob.send(inContext("talk", "/mode plan")),
      await ann.send(inContext("talk", "/mode")),
    ];
    expect([await modeOf(bob, mine), await modeOf(ann, theirs)]).toEqual(["plan", "auto-edit"]);
    await answer(bob, "talk", "/sessions delete talk");

    const { json } = await ann.post("/executeCommand", { command: "sessions list" });
    expect(json).toMatchObject({ data: [{ contextId: "talk", title: "Secret plan" }] });
    expect(await answer(ann, "talk", "/mode")).toBe("completed: The mode is auto-edit.");
    expect(await answer(ann, "talk", "/undo files")).toContain("Deleted a.txt");
  },
);

test("a session that an earlier version stored under its contextId alone stays with its owner", async () => {
  const folder = aFolder();
  const sessions = join(folder.data, "coder", "sessions");
  mkdirSync(sessions, { recursive: true });
  const at = "2026-01-01T00:00:00.000Z";
  const facts = { title: "Old talk", createdAt: at, updatedAt: at, hidden: [], mode: "auto-edit" };
  const usage = { turns: 3, inputTokens: 1, outputTokens: 1 };
  const session = { contextId: "talk", owner: "ann", root: folder.root, usage, ...facts };
  const name = createHash("sha256").update("talk").digest("hex");
  writeFileSync(join(sessions, `${name}.json`), JSON.stringify(session));
  const { ann, bob } = await twoCallers(folder);

  expect(await answer(bob, "talk", "/mode")).toBe("completed: The mode is ask.");
  expect(await answer(ann, "talk", "/mode")).toBe("completed: The mode is auto-edit.");
  const { json } = await ann.post("/executeCommand", { command: "sessions list" });
  expect(json).toMatchObject({ data: [{ title: "Old talk", usage: { turns: 3 } }] });
});

test("an owner that is erased leaves neither sessions nor checkpoints, and others keep theirs", async () => {
  const folder = aFolder();
  const { ann, bob, ops } = await twoCallers(folder);
  for (const [client, name] of [
    [ann, "ann"],
    [bob, "bob"],
  ] as const) {
    await answer(client, "talk", "/mode auto-edit");
    await answer(client, "talk", write(`${name}.txt`, `first of ${name}`));
    await answer(client, "talk", write(`${name}.txt`, `second of ${name}`));
    await answer(client, "talk", `/sessions rename Plan of ${name}`);
  }
  const stored = (text: string): boolean =>
    globSync(join(folder.data, "coder", "**"), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .some((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(text));
  expect(stored("Plan of ann") && stored("first of ann")).toBe(true);

  const { status } = await ops.post("/convoke/erasures", { owner: "ann" });

  expect(status).toBe(200);
  expect(stored("Plan of ann") || stored("first of ann")).toBe(false);
  expect(stored("Plan of bob") && stored("first of bob")).toBe(true);
  expect(await answer(bob, "talk", "/undo files")).toContain("bob.txt");
});
