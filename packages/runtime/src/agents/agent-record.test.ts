import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findAgentRecord, readAgentRecordsBelow, writeAgentRecord } from "./agent-record.ts";
import { defineAgent } from "./define-agent.ts";

function aRoot(): string {
  const root = mkdtempSync(join(tmpdir(), "convoke-records-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

/** Starts an agent in its folder below the root, and returns its id. */
function start(root: string, name: string, more: { source?: string; id?: string } = {}): string {
  const { source, ...id } = more;
  const agent = defineAgent({ ...id, name, description: "Helps.", run: () => "done" });
  const found = findAgentRecord(agent, readAgentRecordsBelow(root), source);
  const folder = found.folder ?? join(root, found.id);
  mkdirSync(folder, { recursive: true });
  writeAgentRecord(folder, found, source);
  return found.id;
}

test("an agent that a file exports keeps its id when its name changes", () => {
  const root = aRoot();
  const source = join(root, "agent.ts");

  expect(start(root, "Support Desk", { source })).toBe("support-desk");
  expect(start(root, "Help Desk", { source })).toBe("support-desk");
  expect(start(root, "Service", { source })).toBe("support-desk");
});

test("an agent that moves to another file keeps its id by its name", () => {
  const root = aRoot();

  expect(start(root, "Desk", { source: join(root, "a.ts") })).toBe("desk");
  expect(start(root, "Desk", { source: join(root, "b.ts") })).toBe("desk");
  expect(start(root, "Help", { source: join(root, "b.ts") })).toBe("desk");
});

test("an agent with the former name of another one is a new agent", () => {
  const root = aRoot();
  const source = join(root, "agent.ts");
  start(root, "Desk", { source });
  start(root, "Help", { source });

  expect(start(root, "Desk")).toBe("desk-2");
  expect(start(root, "Desk")).toBe("desk-2");
  expect(start(root, "Help")).toBe("desk");
});

test("code that serves an agent under another name, without an id, serves another agent", () => {
  const root = aRoot();

  expect(start(root, "Desk")).toBe("desk");
  expect(start(root, "Help")).toBe("help");
  expect(start(root, "Help", { id: "desk" })).toBe("desk");
});
