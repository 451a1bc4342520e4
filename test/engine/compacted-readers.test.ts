import { LogReader } from "@convoke/engine";
import { createMemoryBackend } from "@convoke/engine/memory";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";
import { expect, onTestFinished } from "vitest";
import { verifies } from "../verifies.ts";
import { anEngine } from "./an-engine.ts";

verifies("G2", "a reader ends before a gap, if the log is compacted while it is read", async () => {
  const backend = createMemoryBackend();
  const engine = anEngine(demoAgent, backend);
  onTestFinished(() => backend.close());
  const events = Array.from({ length: 600 }, (_, n) => JSON.stringify({ kind: "internal:n", n }));
  const create = { owner: "ann", contextId: "c", agent: "Any", createdAt: 1 };
  const step = { taskId: "t", create, epoch: 1, events, statusAt: 1, listed: true } as const;
  await backend.commit({ ...step, state: "completed" });
  const closesAfter = () => false;
  const source = { engine, agent: engine.agents.first, taskId: "t", owner: "ann", after: 0 };
  const reader = new LogReader({ ...source, closesAfter });

  const first = await reader.next();
  await backend.retention.compact("t", { seq: 600, json: "{}" });
  const rest = await reader.next();

  expect(first.map(({ seq }) => seq)).toEqual(Array.from(first, (_, index) => index + 1));
  expect(first.length).toBeLessThan(600);
  expect([rest, reader.isEnded]).toEqual([[], true]);
});
