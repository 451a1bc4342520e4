import { scriptedModel } from "@convoke/runtime/testing";
import { defineAgent, tool } from "convoke";
import {
  type A2AHostedAgent,
  type A2ASessionInput,
  type A2ASessionListener,
  type A2ATask,
  type A2ATaskDeps,
  NotFoundError,
  TooManyTasksError,
  ValidationError,
  clearTaskStore,
  handleTaskCancel,
  handleTaskGet,
  handleTaskSend,
  registerAgent,
} from "convoke/compat";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { verifies } from "../verifies.ts";

const ANN = { id: "a1", name: "Ann", defaultProjectId: "p1" };

afterEach(() => {
  clearTaskStore();
  vi.useRealTimers();
});

describe("an inbound task", () => {
  verifies(["R95", "R97"], "opens a session of another agent, starts it and is working", () => {
    const host = new Host();
    const message = `Say ${"😀".repeat(60)}`;

    const task = handleTaskSend(host.deps, { message });

    expect(host.sessions).toEqual([
      {
        projectId: "p1",
        agentId: "a1",
        name: `A2A Task: Say ${"😀".repeat(46)}`,
        initialPrompt: message,
        source: "agent",
      },
    ]);
    expect(host.started).toEqual([{ sessionId: "s1", prompt: message, options: { depth: 1 } }]);
    expect(task).toMatchObject({
      state: "working",
      sessionId: "s1",
      messages: [{ role: "user", parts: [{ type: "text", kind: "text", text: message }] }],
    });
  });

  verifies(["R98", "R99", "R101"], "follows the events of its session at once", () => {
    const host = new Host();
    const task = handleTaskSend(host.deps, { message: "Hello" });

    host.emit({ type: "assistant", message: { role: "assistant", content: "Hi there" } });
    const midway = { state: task.state, last: textsOf(task).at(-1) };
    host.emit({ type: "session_exited" });

    expect(midway).toEqual({ state: "working", last: "Hi there" });
    expect(task.state).toBe("completed");
    expect(handleTaskGet(task.id)).toBe(task);
    expect(handleTaskGet("another")).toBeNull();
  });

  verifies("R98", "is completed by a stopped session, and failed by an error", () => {
    const host = new Host();
    const stopped = handleTaskSend(host.deps, { message: "one" });
    host.emit({ type: "session_stopped" });
    const failed = handleTaskSend(host.deps, { message: "two" });
    host.emit({ type: "error", error: { message: "a secret" } });

    expect([stopped.state, failed.state]).toEqual(["completed", "failed"]);
    expect(JSON.stringify(failed)).not.toContain("secret");
  });

  verifies(["inbound-K1", "R105"], "that is completed stays so, whatever comes later", () => {
    const host = new Host();
    const task = handleTaskSend(host.deps, { message: "Hello" });

    host.emit({ type: "session_exited" });
    host.emit({ type: "error" });
    host.emit({ type: "assistant", message: { content: "more" } });

    expect(task.state).toBe("completed");
    expect(textsOf(task)).toEqual(["Hello"]);
  });

  for (const crash of [
    [{ type: "session_error" }, { type: "session_exited" }],
    [{ type: "session_exited", exitCode: 1 }],
    [{ type: "session_exited", code: null, signal: "SIGKILL" }],
  ]) {
    verifies("inbound-K2", `fails when its session crashes: ${JSON.stringify(crash)}`, () => {
      const host = new Host();
      const task = handleTaskSend(host.deps, { message: "Hello" });

      for (const event of crash) host.emit(event);

      expect(task.state).toBe("failed");
    });
  }

  verifies(["inbound-K3", "R107"], "that times out stops its process and gets no more text", () => {
    vi.useFakeTimers();
    const host = new Host();
    const task = handleTaskSend(host.deps, { message: "Hello", timeoutMs: 5000 });

    vi.advanceTimersByTime(4999);
    const before = task.state;
    vi.advanceTimersByTime(1);
    host.emit({ type: "assistant", message: { content: "too late" } });
    host.emit({ type: "session_exited" });

    expect(before).toBe("working");
    expect(task.state).toBe("failed");
    expect(textsOf(task)).toEqual(["Hello", "Task timed out"]);
    expect(host.stopped).toEqual(["s1"]);
  });

  verifies(["R107", "R108"], "has five minutes by default, and no timer after its end", () => {
    vi.useFakeTimers();
    const host = new Host();
    const ended = handleTaskSend(host.deps, { message: "one" });
    host.emit({ type: "session_exited" });
    const slow = handleTaskSend(host.deps, { message: "two" });

    vi.advanceTimersByTime(5 * 60_000 - 1);
    const before = slow.state;
    vi.advanceTimersByTime(1);

    expect([before, slow.state, ended.state]).toEqual(["working", "failed", "completed"]);
    expect(host.stopped).toEqual(["s2"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  verifies("seed-C27", "is canceled if a cancel was requested before its session stopped", () => {
    const host = new Host();
    const task = handleTaskSend(host.deps, { message: "Hello" });

    expect(handleTaskCancel(task.id)).toBe(task);
    host.emit({ type: "session_stopped" });

    expect(host.stopped).toEqual(["s1"]);
    expect(task).toMatchObject({ state: "failed", a2aState: "canceled" });
    expect(textsOf(task).at(-1)).toBe("Task canceled");
    expect(handleTaskCancel("another")).toBeNull();
  });

  verifies("inbound-K11", "keeps all blocks of a message, and ends its subscription", () => {
    const host = new Host();
    const task = handleTaskSend(host.deps, { message: "Hello" });
    const content = [
      { type: "text", text: "First. " },
      { type: "tool_use", name: "search" },
      { type: "text", text: "Second." },
    ];

    host.emit({ type: "assistant", message: { content } });
    const during = host.listeners.size;
    host.emit({ type: "session_exited" });

    expect(textsOf(task)).toEqual(["Hello", "First. Second."]);
    expect([during, host.listeners.size]).toEqual([1, 0]);
  });

  test("fails if its process cannot be started, and the program gets the error", () => {
    const host = new Host();
    const error = new Error("no such program");
    const processManager = { ...host.deps.processManager, startProcess: () => raise(error) };

    expect(() => handleTaskSend({ ...host.deps, processManager }, { message: "Hello" })).toThrow(
      error,
    );
    expect(host.listeners.size).toBe(0);
  });
});

describe("the agent of an inbound task", () => {
  verifies(
    ["R96", "seed-C26"],
    "is the one that the body names, or has the skill, or is first",
    () => {
      const tools = ["search", "write"].map((name) =>
        tool({ name, description: name, run: () => "" }),
      );
      const model = scriptedModel([]);
      onTestFinished(
        registerAgent(defineAgent({ name: "Host", description: "Hosts.", model, tools })),
      );
      const host = new Host([
        { id: "a0", name: "No project" },
        { ...ANN, mcpToolPermissions: [] },
        { id: "a2", name: "Bob", defaultProjectId: "p2", mcpToolPermissions: ["write"] },
        { id: "a3", name: "Cid", defaultProjectId: "p3" },
      ]);
      const agentFor = (params: object) => {
        handleTaskSend(host.deps, { message: "Hello", ...params });
        return host.sessions.at(-1)?.agentId;
      };

      expect(agentFor({})).toBe("a1");
      expect(agentFor({ skill: "write" })).toBe("a2");
      expect(agentFor({ skill: "search" })).toBe("a3");
      expect(agentFor({ skill: "unknown" })).toBe("a1");
      expect(agentFor({ agent: "a3", skill: "write" })).toBe("a3");
      expect(agentFor({ agent: "Bob" })).toBe("a2");
      expect(host.started.at(-1)?.options).toEqual({ depth: 1 });
    },
  );

  for (const [why, agents, params] of [
    ["none has a project", [{ id: "a0", name: "Ann", defaultProjectId: null }], {}],
    ["there is none", [], {}],
    ["the named one is unknown", [ANN], { agent: "other" }],
  ] as const) {
    verifies("R96", `is not found if ${why}`, () => {
      const send = () => handleTaskSend(new Host(agents).deps, { message: "Hello", ...params });

      expect(send).toThrow(new NotFoundError("Agent with default project"));
      expect(send).toThrow(NotFoundError);
    });
  }

  verifies("inbound-K4", "stays the same when another is edited", () => {
    const old = { ...ANN, createdAt: "2026-01-01T00:00:00Z" };
    const young = { ...ANN, id: "a2", createdAt: "2026-02-01T00:00:00Z" };
    // As a database lists them that sorts by the last change.
    const host = new Host([young, old]);

    handleTaskSend(host.deps, { message: "Hello" });

    expect(host.sessions[0]?.agentId).toBe("a1");
  });

  verifies("R100", "and its session come from the database, unless functions are injected", () => {
    const host = new Host();
    const { processManager } = host.deps;
    const db = {
      listAgents: () => [{ ...ANN, id: "from the database" }],
      createSession: (input: A2ASessionInput) => host.create(input),
    };

    handleTaskSend({ db, processManager }, { message: "Hello" });
    handleTaskSend({ ...host.deps, db }, { message: "Hello" });

    expect(host.sessions.map(({ agentId }) => agentId)).toEqual(["from the database", "a1"]);
    expect(() => handleTaskSend({ db: {}, processManager }, { message: "Hello" })).toThrow(
      "deps.listAgents is needed",
    );
  });
});

describe("the body of an inbound task", () => {
  verifies("inbound-K8", "may be wrapped, and its skill and depth reach the process", () => {
    const host = new Host();
    const params = { message: "Hello", skill: "search", depth: 2, sourceAgent: "Planner" };

    handleTaskSend(host.deps, { method: "tasks/send", params });

    expect(host.started[0]?.options).toEqual({ skill: "search", depth: 2, sourceAgent: "Planner" });
  });

  for (const [body, problem] of [
    [{ message: "  " }, "message must not be blank"],
    [{ params: { message: "" } }, "message must not be blank"],
    [{}, "message"],
    [{ message: "Hello", timeoutMs: 0 }, "timeoutMs"],
    [{ message: "Hello", depth: 11 }, "depth"],
    [{ message: "Hello", depth: 3 }, "depth is 3: this chain of agents is too long"],
  ] as const) {
    verifies(
      ["R102", "inbound-K13"],
      `${JSON.stringify(body)} is rejected with an error that names the field`,
      () => {
        const send = () => handleTaskSend(new Host().deps, body as never);

        expect(send).toThrow(ValidationError);
        expect(send).toThrow(problem);
      },
    );
  }
});

verifies(["inbound-K5", "R101"], "at most 1000 tasks are kept, and running ones always", () => {
  const host = new Host();
  const send = () => handleTaskSend(host.deps, { message: "Hello" });
  const kept = (tasks: readonly A2ATask[]) => tasks.filter(({ id }) => handleTaskGet(id) !== null);
  const first = send();
  const ended = Array.from({ length: 999 }, () => {
    const task = send();
    host.emit({ type: "session_exited" });
    return task;
  });
  const all = kept([first, ...ended]).length;

  const next = send();
  const left = kept(ended);
  const running = Array.from({ length: 998 }, send);

  expect(all).toBe(1000);
  expect(left).toEqual(ended.slice(100));
  expect(kept([first, next, ...running])).toHaveLength(1000);
  expect(send).toThrow(TooManyTasksError);
  clearTaskStore();
  expect(kept([first, next, ...running])).toEqual([]);
});

/** A program with agents whose sessions are played by the test. */
class Host {
  readonly sessions: A2ASessionInput[] = [];
  readonly started: { sessionId: string; prompt: string; options: unknown }[] = [];
  readonly stopped: string[] = [];
  /** The listeners by session. */
  readonly listeners = new Map<string, A2ASessionListener>();
  readonly deps: A2ATaskDeps;

  constructor(agents: readonly A2AHostedAgent[] = [ANN]) {
    this.deps = {
      db: undefined,
      listAgents: () => agents,
      createSession: (_, input) => this.create(input),
      processManager: {
        subscribe: (sessionId, listener) => void this.listeners.set(sessionId, listener),
        unsubscribe: (sessionId, listener) => {
          if (this.listeners.get(sessionId) === listener) this.listeners.delete(sessionId);
        },
        startProcess: ({ id: sessionId }, prompt, options) =>
          void this.started.push({ sessionId, prompt, options }),
        stopProcess: (sessionId) => void this.stopped.push(sessionId),
      },
    };
  }

  create(input: A2ASessionInput): { readonly id: string } {
    this.sessions.push(input);
    return { id: `s${this.sessions.length}` };
  }

  /** An event of the newest session, which only listeners hear that are still subscribed. */
  emit(event: object): void {
    const sessionId = `s${this.sessions.length}`;
    this.listeners.get(sessionId)?.(sessionId, event);
  }
}

function textsOf({ messages }: A2ATask): readonly string[] {
  return messages.map(({ parts }) => parts.map(({ text }) => text).join("|"));
}

function raise(error: Error): never {
  throw error;
}
