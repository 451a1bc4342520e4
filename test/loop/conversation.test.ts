import { openSqliteBackend } from "@convoke/backends/sqlite";
import { textPart } from "@convoke/protocol";
import { scriptedModel } from "@convoke/runtime/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LoopWorld } from "./a-loop-world.ts";
import { calls, echoTool } from "./scripts.ts";

test("a new task of a known context starts with its conversation, including answers, also after a restart", async () => {
  const folder = await mkdtemp(join(tmpdir(), "convoke-conversation-"));
  const model = scriptedModel([
    [{ kind: "text", text: "One moment." }, calls("echo", { text: "Ann" })],
    "Hello, Ann.",
    "You are Ann.",
  ]);
  const definition = { model, tools: [echoTool()] };
  const first = new LoopWorld(definition, { backend: await openSqliteBackend({ folder }) });
  const { contextId } = await first.ask("I am Ann.");
  await first.backend.close();

  const backend = await openSqliteBackend({ folder });
  const second = new LoopWorld(definition, { backend });
  await second.ask("Who am I?", { contextId });
  await backend.close();
  await rm(folder, { recursive: true });

  expect(model.requests[2]!.transcript).toEqual([
    { role: "user", parts: [textPart("I am Ann.")] },
    { role: "assistant", content: [{ kind: "text", text: "One moment.\n\nHello, Ann." }] },
    { role: "user", parts: [textPart("Who am I?")] },
  ]);
});
