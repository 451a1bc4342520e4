import { type ProcessLimits, ProcessManager, type SessionEvent } from "convoke";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { acpOptions } from "./a-process-agent.ts";

/** A manager whose sessions can be followed. */
function aManager(limits: ProcessLimits = {}) {
  const { command, args, protocol, workspace } = acpOptions();
  const log: string[] = [];
  const note = (text: string): void => void log.push(text);
  const manager = new ProcessManager({
    command,
    ...(args && { args }),
    protocol,
    workspace,
    limits: { graceMs: 50, ...limits },
    logger: { debug: note, warn: note },
  });
  onTestFinished(() => manager.close());
  const follow = (id: string): SessionEvent[] => {
    const events: SessionEvent[] = [];
    manager.subscribe(id, (_, event) => void events.push(event));
    return events;
  };
  const ended = (events: readonly SessionEvent[]): Promise<void> =>
    vi.waitFor(() => expect(events.at(-1)?.type).toMatch(/^session_(exited|stopped)$/), 20_000);
  return { manager, follow, ended, log, workspace };
}

const typesOf = (events: readonly SessionEvent[]) => events.map(({ type }) => type);

test("a session reports its events in order, text as whole blocks, and one end", async () => {
  const { manager, follow, ended } = aManager();
  const events = follow("s1");

  manager.startProcess({ id: "s1" }, "work");
  await ended(events);
  manager.startProcess({ id: "s1" }, "recall");
  await vi.waitFor(() => expect(events).toHaveLength(12), 20_000);

  expect(typesOf(events)).toEqual([
    "session_started",
    "thinking",
    "tool_status",
    "tool_status",
    "tool_status",
    "assistant",
    "result",
    "session_exited",
    "session_started",
    "assistant",
    "result",
    "session_exited",
  ]);
  expect(events[9]).toEqual({
    type: "assistant",
    message: { role: "assistant", content: [{ type: "text", text: "work | recall" }] },
  });
});

test("an approval request waits for its answer", async () => {
  const { manager, follow, ended, workspace } = aManager();
  const events = follow("s1");
  manager.subscribe("s1", (id, event) => {
    if (event.type === "approval_request") manager.answerApproval(id, event.request.id, "once");
  });

  manager.startProcess({ id: "s1" }, "write a.txt: x");
  await ended(events);

  expect(events.find(({ type }) => type === "approval_request")).toMatchObject({
    request: { toolName: "edit", description: "Write a.txt", options: ["once", "reject"] },
  });
  expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("x");
});

test("a crash is a session error before the exit, and a stopped session says nothing more", async () => {
  const { manager, follow, ended } = aManager();
  const [crashed, stopped] = [follow("crashed"), follow("stopped")];

  manager.startProcess({ id: "crashed" }, "crash");
  manager.startProcess({ id: "stopped" }, "hang");
  expect(() => manager.startProcess({ id: "stopped" }, "hang")).toThrow("already running");
  await ended(crashed);
  await vi.waitFor(() => expect(stopped).not.toHaveLength(0), 20_000);
  manager.stopProcess("stopped");
  await ended(stopped);

  expect(typesOf(crashed)).toEqual([
    "session_started",
    "session_error",
    "result",
    "session_exited",
  ]);
  expect(crashed[1]).toMatchObject({ error: { type: "process-exited" } });
  expect(typesOf(stopped)).toEqual(["session_started", "session_stopped"]);
});

test("a listener that throws does not concern the others, and one that has left gets nothing", async () => {
  const { manager, follow, ended, log } = aManager();
  const gone: SessionEvent[] = [];
  const leave = manager.subscribe("s1", (_, event) => void gone.push(event));
  manager.subscribe("s1", () => {
    throw new Error("broken listener");
  });
  const events = follow("s1");
  leave();

  manager.startProcess({ id: "s1" }, "say hello");
  await ended(events);

  expect(typesOf(events)).toEqual(["session_started", "assistant", "result", "session_exited"]);
  expect(gone).toEqual([]);
  expect(log).toContain("a listener of a session failed");
});

test("a session that works for too long is an error, and its process is stopped", async () => {
  const { manager, follow, ended } = aManager({ promptMs: 300 });
  const events = follow("s1");

  manager.startProcess({ id: "s1" }, "stubborn");
  await ended(events);

  expect(events.find(({ type }) => type === "session_error")).toMatchObject({
    error: { type: "time-limit" },
  });
});
