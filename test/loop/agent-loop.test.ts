import {
  A2AError,
  type AgentEvent,
  type StatusUpdateEvent,
  type Task,
  isPublic,
  textOf,
} from "@convoke/protocol";
import { AgentLoop, defineAgent, inputRequired, tool } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { createMemoryBackend } from "@convoke/engine/memory";
import { describe, expect, test } from "vitest";
import { aServer } from "../engine/a-server.ts";
import { verifies } from "../verifies.ts";
import { calls, echoTool, eventsOf } from "./scripts.ts";

const SCRIPT = [
  [{ kind: "text", text: "Let me see. " }, calls("echo", { text: "hi" })],
  "It said hi.",
] as const;

function aLoop(): AgentLoop {
  return new AgentLoop({ model: scriptedModel(SCRIPT), tools: [echoTool()] });
}

describe("what a loop emits", () => {
  verifies(["R45", "R47"], "passes the compliance test of its document as written", async () => {
    const agentLoop = aLoop();
    const events$ = agentLoop.execute("Test prompt");
    const a2aEvents: AgentEvent[] = [];
    const completed = new Promise<void>((resolve, reject) => {
      events$.subscribe({
        next: (event) => {
          // Filter internal events
          if (!event.kind.startsWith("internal:")) {
            a2aEvents.push(event);
          }
        },
        error: reject,
        complete: () => {
          // Verify all events are A2A-compliant
          a2aEvents.forEach((event) => {
            expect(["task", "status-update", "artifact-update"]).toContain(event.kind);
          });

          // Verify first event is TaskEvent
          expect(a2aEvents[0]!.kind).toBe("task");

          // Verify last event is final status-update
          const lastEvent = a2aEvents[a2aEvents.length - 1] as StatusUpdateEvent;
          expect(lastEvent.kind).toBe("status-update");
          expect(lastEvent.final).toBe(true);
          resolve();
        },
      });
    });

    await completed;
  });

  verifies(["R48", "R50", "R112"], "comes in one order, iteration by iteration", async () => {
    const events = await eventsOf(aLoop().execute("Test prompt"));

    const kinds = events
      .map(({ kind }) => kind)
      .filter((kind, place, all) => kind !== all[place - 1]);
    expect(kinds).toEqual([
      "task",
      "status-update",
      "internal:llm-call",
      "artifact-update",
      "internal:llm-result",
      "internal:tool-start",
      "internal:tool-complete",
      "internal:checkpoint",
      "internal:llm-call",
      "artifact-update",
      "internal:llm-result",
      "internal:checkpoint",
      "artifact-update",
      "status-update",
    ]);
    const states = events.flatMap((event) =>
      event.kind === "task" || event.kind === "status-update"
        ? [(event as Task | StatusUpdateEvent).status.state]
        : [],
    );
    expect(states).toEqual(["submitted", "working", "completed"]);
    expect((events[0] as Task).history?.[0]?.parts).toEqual([
      { kind: "text", text: "Test prompt" },
    ]);
    for (const event of events.filter((one) => !isPublic(one))) {
      expect(event).toMatchObject({ taskId: (events[0] as Task).id });
    }
    expect(events.filter(({ kind }) => kind === "internal:tool-start")[0]).toMatchObject({
      toolName: "echo",
      toolCallId: "call_1",
      input: { text: "hi" },
    });
  });

  verifies(
    "R46",
    "is what a server relays: the same loop behind a port says the same",
    async () => {
      const alone = (await eventsOf(aLoop().execute("Test prompt"))).filter(isPublic);
      const definition = { name: "Loop", description: "Loops." };
      const agent = defineAgent({
        ...definition,
        model: scriptedModel(SCRIPT),
        tools: [echoTool()],
      });
      const server = await aServer(agent, createMemoryBackend());

      const response = await fetch(server.url, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "text/event-stream" },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "message/stream",
          params: {
            message: {
              kind: "message",
              messageId: "m1",
              role: "user",
              parts: [{ kind: "text", text: "Test prompt" }],
            },
          },
        }),
      });
      const relayed = (await response.text())
        .split("\n")
        .filter((line) => line.startsWith("data: {"))
        .map((line) => (JSON.parse(line.slice(6)) as { readonly result: AgentEvent }).result);

      expect(relayed.map(comparable)).toEqual(alone.map(comparable));
    },
  );
});

/** An event without its ids and times, which no two tasks have in common. */
function comparable(event: AgentEvent): unknown {
  return JSON.parse(
    JSON.stringify(event, (name, value: unknown) =>
      ["id", "taskId", "contextId", "messageId", "timestamp", "durationMs"].includes(name)
        ? name
        : value,
    ),
  );
}

describe("the loop by itself", () => {
  verifies("R51", "takes ids, and gives the task when it is over", async () => {
    const loop = aLoop();

    const task = await loop.invokeSync([{ kind: "text", text: "go" }], {
      taskId: "t1",
      contextId: "c1",
    });

    expect(task).toMatchObject({ id: "t1", contextId: "c1", status: { state: "completed" } });
    expect(textOf(task)).toBe("Let me see. \n\nIt said hi.");
  });

  test("starts when somebody subscribes, and once", async () => {
    const model = scriptedModel(["one"]);
    const events$ = new AgentLoop({ model }).execute("go");
    expect(model.requests).toHaveLength(0);

    const [first, second] = await Promise.all([eventsOf(events$), eventsOf(events$)]);
    const later = await eventsOf(events$);

    expect(model.requests).toHaveLength(1);
    expect(second).toEqual(first);
    expect(later).toEqual(first);
  });

  test("a new task of a conversation begins with what was said in it", async () => {
    const model = scriptedModel(["Hello, Ann.", "You are Ann."]);
    const loop = new AgentLoop({ model });

    await eventsOf(loop.execute("I am Ann.", { contextId: "c1" }));
    await eventsOf(loop.execute("Who am I?", { contextId: "c1" }));

    expect(model.requests[1]!.transcript).toEqual([
      { role: "user", parts: [{ kind: "text", text: "I am Ann." }] },
      { role: "assistant", content: [{ kind: "text", text: "Hello, Ann." }] },
      { role: "user", parts: [{ kind: "text", text: "Who am I?" }] },
    ]);
  });

  verifies("R51", "a question ends the stream, and the answer goes on with the task", async () => {
    const name = tool({
      name: "name",
      description: "Asks for the name.",
      run: (_, { answers }) =>
        answers.get("name")?.text ?? inputRequired("Who are you?", { requestId: "name" }),
    });
    const model = scriptedModel([calls("name"), "Hello!"]);
    const loop = new AgentLoop({ model, tools: [name] });

    const asked = await eventsOf(loop.execute("go", { taskId: "t1" }));
    const answered = await eventsOf(loop.execute("Ann", { taskId: "t1" }));

    expect(asked.at(-1)).toMatchObject({ status: { state: "input-required" }, final: true });
    expect(answered.at(-1)).toMatchObject({ status: { state: "completed" }, final: true });
    expect(model.requests[1]!.transcript.at(-1)).toMatchObject({
      role: "tool",
      results: [{ output: "Ann", isError: false }],
    });
  });

  verifies("R112", "a finished task that is resumed says that it is completed", async () => {
    const loop = aLoop();
    const task = await loop.invokeSync([{ kind: "text", text: "go" }]);

    const events = await eventsOf(loop.resume(task.id));

    expect(events).toHaveLength(2);
    expect(events[0]).toEqual(task);
    expect(events[1]).toMatchObject({ status: { state: "completed" }, final: true });
  });

  verifies("R112", "a task that was left goes on where it was, and repeats nothing", async () => {
    let runs = 0;
    const counted = echoTool({ run: () => `run ${(runs += 1)}` });
    const model = scriptedModel([
      [{ kind: "text", text: "First." }, calls("echo")],
      [{ kind: "text", text: "half an " }, { kind: "silence" }],
      "half an answer",
    ]);
    const loop = new AgentLoop({ model, tools: [counted] });
    await leaveWhen(loop.execute("go", { taskId: "t1" }), (event) => textIn(event).includes("an "));

    const events = await eventsOf(loop.resume("t1"));

    expect(textOf(events[0] as Task)).toBe("First.\n\nhalf an ");
    expect(events.at(-1)).toMatchObject({ status: { state: "completed" } });
    const task = (await eventsOf(loop.resume("t1")))[0] as Task;
    expect(textOf(task)).toBe("First.\n\nhalf an answer");
    expect(runs).toBe(1);
    expect(model.requests).toHaveLength(3);
  });

  test("a canceled task tells whoever listens, and its tool stops", async () => {
    let reason: unknown;
    const slow = tool({
      name: "slow",
      description: "Never ends.",
      run: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            reason = signal.reason;
            reject(new Error("stopped"));
          });
        }),
    });
    const loop = new AgentLoop({ model: scriptedModel([calls("slow")]), tools: [slow] });
    const events = eventsOf(loop.execute("go", { taskId: "t1" }));
    await expect.poll(() => loop.resume("t1") !== undefined).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 20));

    await loop.cancel("t1");

    expect((await events).at(-1)).toMatchObject({ status: { state: "canceled" }, final: true });
    expect(reason).toBeInstanceOf(Error);
    await expect(loop.cancel("t1")).rejects.toThrow(A2AError);
    await expect(loop.cancel("t2")).rejects.toThrow("there is no task t2");
  });

  test("a task that does not wait takes no message", async () => {
    const loop = aLoop();
    await loop.invokeSync([{ kind: "text", text: "go" }], { taskId: "t1" });

    await expect(eventsOf(loop.execute("more", { taskId: "t1" }))).rejects.toThrow(
      "task t1 is completed and takes no more messages",
    );
  });

  verifies(
    "R49",
    "an unexpected error is a failed task with an id, and its text stays here",
    async () => {
      const errors: unknown[] = [];
      const loop = new AgentLoop({
        model: scriptedModel(["x"]),
        hooks: {
          beforeModel: () => {
            throw new Error("password hunter2");
          },
        },
        onError: (error, errorId) => errors.push(error, errorId),
      });

      const last = (await eventsOf(loop.execute("go"))).at(-1) as StatusUpdateEvent;

      expect(last).toMatchObject({ status: { state: "failed" }, final: true });
      expect(last.metadata).toMatchObject({ errorId: errors[1] });
      expect(last.metadata?.["error"]).toContain(errors[1]);
      expect(JSON.stringify(last)).not.toContain("hunter2");
      expect(errors[0]).toMatchObject({ message: "the agent's own beforeModel failed" });
    },
  );
});

function textIn(event: AgentEvent): string {
  return event.kind === "artifact-update" ? JSON.stringify(event) : "";
}

/** Unsubscribes at the first event that fits. */
function leaveWhen(
  source: ReturnType<AgentLoop["execute"]>,
  isEnough: (event: AgentEvent) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const subscription = source.subscribe({
      next: (event) => {
        if (!isEnough(event)) return;
        queueMicrotask(() => {
          subscription.unsubscribe();
          resolve();
        });
      },
      error: reject,
    });
  });
}
