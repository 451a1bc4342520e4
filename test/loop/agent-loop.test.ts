import {
  A2AError,
  type AgentEvent,
  type ArtifactUpdateEvent,
  type StatusUpdateEvent,
  type Task,
  isPublic,
  textOf,
} from "@convoke/protocol";
import { AgentLoop, defineAgent, inputRequired, tool } from "@convoke/runtime";
import { type ScriptStep, scriptedModel } from "@convoke/runtime/testing";
import { createMemoryBackend } from "@convoke/engine/memory";
import { describe, expect, test } from "vitest";
import { aServer } from "../engine/a-server.ts";
import { verifies } from "../verifies.ts";
import { LoopWorld } from "./a-loop-world.ts";
import { calls, echoTool, eventsOf, resultsTold } from "./scripts.ts";

const SCRIPT = [
  [{ kind: "text", text: "Let me see. " }, calls("echo", { text: "hi" })],
  "It said hi.",
] as const;

function aLoop(): AgentLoop {
  return new AgentLoop({ model: scriptedModel(SCRIPT), tools: [echoTool()] });
}

describe("the output of a loop", () => {
  verifies(["R45", "R47"], "passes the compliance test of its documentation verbatim", async () => {
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

  verifies(["R48", "R50", "R112"], "has a fixed order, iteration by iteration", async () => {
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
  });

  test("has one chunk for texts that arrive together, and one for each that arrives later", async () => {
    const wait = { kind: "delay", ms: 20 } as const;
    const steps = [
      { kind: "text", text: "One two three. " },
      wait,
      { kind: "text", text: "Four." },
    ];
    const model = scriptedModel([steps as readonly ScriptStep[]]);

    const events = await eventsOf(new AgentLoop({ model }).execute("Count."));

    expect(chunks(events)).toEqual(["One two three. ", "Four."]);
  });

  test("has a thought between the texts before and after it, also if all arrive together", async () => {
    const text = (words: string) => ({ kind: "text", text: words }) as const;
    const model = scriptedModel([
      [text("First. "), { kind: "reasoning", text: "hm" }, text("Next.")],
    ]);

    const events = await eventsOf(new AgentLoop({ model }).execute("Go."));

    const told = events.filter(
      ({ kind }) => kind === "artifact-update" || kind === "internal:thought",
    );
    expect(told.map(({ kind }) => kind).slice(0, 3)).toEqual([
      "artifact-update",
      "internal:thought",
      "artifact-update",
    ]);
    expect(chunks(events)).toEqual(["First. ", "Next."]);
  });

  verifies("R48", "has internal events with the documented fields", async () => {
    const events = await eventsOf(
      new AgentLoop({
        model: scriptedModel([[calls("echo", {}, "good"), calls("broken", {}, "bad")], "Done."], {
          price: { inputPerMillion: 1, outputPerMillion: 1 },
        }),
        tools: [
          echoTool(),
          echoTool({
            name: "broken",
            run: () => {
              throw new Error("out of order");
            },
          }),
        ],
      }).execute("go"),
    );

    const { id: taskId } = events[0] as Task;
    const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const notes = (kind: string): readonly AgentEvent[] =>
      events.filter((event) => event.kind === kind);
    const count = expect.any(Number);
    const asked = { taskId, attempt: 1, estimatedTokens: count, tools: ["echo", "broken"] };
    expect(notes("internal:llm-call")).toMatchObject([
      { ...asked, iteration: 1, entries: 1, timestamp },
      { ...asked, iteration: 2, entries: 3, timestamp },
    ]);
    const answered = { taskId, attempt: 1, firstMs: count, durationMs: count, costUsd: count };
    expect(notes("internal:llm-result")).toMatchObject([
      { ...answered, iteration: 1, finish: "tool-calls", timestamp },
      { ...answered, iteration: 2, finish: "stop", timestamp },
    ]);
    expect(notes("internal:tool-start")).toMatchObject([
      { taskId, toolName: "echo", toolCallId: "good", timestamp },
      { taskId, toolName: "broken", toolCallId: "bad", timestamp },
    ]);
    const completed = notes("internal:tool-complete");
    expect(completed).toHaveLength(2);
    expect(completed).toContainEqual(
      expect.objectContaining({ taskId, toolCallId: "good", success: true, timestamp }),
    );
    expect(completed).toContainEqual(
      expect.objectContaining({ taskId, toolCallId: "bad", success: false, timestamp }),
    );
    expect(notes("internal:checkpoint")).toMatchObject([
      { taskId, iteration: 1, timestamp },
      { taskId, iteration: 2, timestamp },
    ]);
  });

  verifies(
    "R46",
    "is what a server relays: the same loop on a port sends the same events, field by field",
    async () => {
      const alone = (await eventsOf(aLoop().execute("Test prompt"))).filter(isPublic);
      const definition = { name: "Loop", description: "Loops." };
      const agent = defineAgent({
        ...definition,
        model: scriptedModel(SCRIPT),
        tools: [echoTool()],
        finalMessage: true,
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

      expect(comparable(relayed)).toEqual(comparable(alone));
      expect(relayed.at(-1)).toMatchObject({
        final: true,
        status: { state: "completed", message: { parts: [{ text: "It said hi." }] } },
        metadata: { usage: { iterations: 2 }, availableTools: [{ name: "echo" }] },
      });
    },
  );

  verifies("R49", "has the final answer in the completed status, once", async () => {
    const model = scriptedModel([...SCRIPT, "Yes."]);
    const loop = new AgentLoop({ model, tools: [echoTool()] });

    const task = await loop.invokeSync([{ kind: "text", text: "go" }], { contextId: "c1" });
    await loop.invokeSync([{ kind: "text", text: "Really?" }], { contextId: "c1" });

    expect(task.status).toMatchObject({
      state: "completed",
      message: { role: "agent", parts: [{ kind: "text", text: "It said hi." }] },
    });
    expect(textOf(task)).toBe("Let me see. \n\nIt said hi.");
    const told = JSON.stringify(model.requests.at(-1)!.transcript);
    expect(told.split("It said hi.")).toHaveLength(2);
  });

  verifies("R49", "has it on a server only if the agent sets finalMessage", async () => {
    const agent = { name: "Loop", description: "Loops." };
    const statuses = await Promise.all(
      [undefined, true].map(async (finalMessage) => {
        const world = new LoopWorld({
          ...agent,
          model: scriptedModel(["Hello."]),
          ...(finalMessage !== undefined && { finalMessage }),
        });
        return (await world.ask("go")).status;
      }),
    );

    expect(statuses[0]).toMatchObject({ state: "completed" });
    expect(statuses[0]).not.toHaveProperty("message");
    expect(statuses[1]).toMatchObject({
      state: "completed",
      message: { parts: [{ text: "Hello." }] },
    });
  });
});

/** The events without what differs between tasks: ids, times and durations. */
function comparable(events: readonly AgentEvent[]): unknown {
  const { id, contextId, history } = events[0] as Task;
  const ids = new Map([
    [id, "<task>"],
    [contextId, "<context>"],
    [history![0]!.messageId, "<message>"],
  ]);
  const text = JSON.stringify(events)
    .replaceAll(/"timestamp":"[^"]+"/g, '"timestamp":"<time>"')
    .replaceAll(/"durationMs":\d+/g, '"durationMs":0');
  const plain = [...ids].reduce((json, [own, common]) => json.replaceAll(own, common), text);
  return JSON.parse(plain);
}

describe("a standalone loop", () => {
  verifies("R51", "accepts ids, and returns the task at the end", async () => {
    const loop = aLoop();

    const task = await loop.invokeSync([{ kind: "text", text: "go" }], {
      taskId: "t1",
      contextId: "c1",
    });

    expect(task).toMatchObject({ id: "t1", contextId: "c1", status: { state: "completed" } });
    expect(textOf(task)).toBe("Let me see. \n\nIt said hi.");
  });

  test("starts on the first subscription, and only once", async () => {
    const model = scriptedModel(["one"]);
    const events$ = new AgentLoop({ model }).execute("go");
    expect(model.requests).toHaveLength(0);

    const [first, second] = await Promise.all([eventsOf(events$), eventsOf(events$)]);
    const later = await eventsOf(events$);

    expect(model.requests).toHaveLength(1);
    expect(second).toEqual(first);
    expect(later).toEqual(first);
  });

  test("a new task of a conversation starts with its earlier messages", async () => {
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

  verifies("R51", "a question ends the stream, and the answer continues the task", async () => {
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

  verifies(
    "R51",
    'the text "approve" approves a call, and "reject" with a reason rejects one',
    async () => {
      const guarded = echoTool({ confirm: "ask" });
      const script = [calls("echo", { text: "hi" }), "Done."];
      const outputs = await Promise.all(
        ["approve", "reject: too loud"].map(async (words) => {
          const model = scriptedModel(script);
          const loop = new AgentLoop({ model, tools: [guarded] });
          await loop.invokeSync([{ kind: "text", text: "go" }], { taskId: "t1" });
          const task = await loop.invokeSync([{ kind: "text", text: words }], { taskId: "t1" });
          expect(task.status.state).toBe("completed");
          return resultsTold(model.requests)[0];
        }),
      );

      expect(outputs).toEqual(["echo hi", "Not run: the user rejected it, and says: too loud"]);
    },
  );

  test('with acceptPlainText: false, the text "approve" is a new message, and the call does not run', async () => {
    const model = scriptedModel([calls("echo", { text: "hi" }), "Done."]);
    const loop = new AgentLoop({
      model,
      tools: [echoTool({ confirm: "ask" })],
      approvals: { acceptPlainText: false },
    });
    await loop.invokeSync([{ kind: "text", text: "go" }], { taskId: "t1" });

    await loop.invokeSync([{ kind: "text", text: "approve" }], { taskId: "t1" });

    expect(resultsTold(model.requests)).toEqual(["Not run: the user sent a new message instead."]);
  });

  verifies("R112", "a finished task that is resumed emits completed", async () => {
    const loop = aLoop();
    const task = await loop.invokeSync([{ kind: "text", text: "go" }]);

    const events = await eventsOf(loop.resume(task.id));

    expect(events).toHaveLength(2);
    expect(events[0]).toEqual(task);
    expect(events[1]).toMatchObject({ status: { state: "completed" }, final: true });
  });

  verifies(
    "R112",
    "a task whose stream was left resumes where it was, and repeats nothing",
    async () => {
      let runs = 0;
      const counted = echoTool({ run: () => `run ${(runs += 1)}` });
      const model = scriptedModel([
        [{ kind: "text", text: "First." }, calls("echo")],
        [{ kind: "text", text: "half an " }, { kind: "silence" }],
        "half an answer",
      ]);
      const loop = new AgentLoop({ model, tools: [counted] });
      await leaveWhen(loop.execute("go", { taskId: "t1" }), (event) =>
        textIn(event).includes("an "),
      );

      const events = await eventsOf(loop.resume("t1"));

      expect(textOf(events[0] as Task)).toBe("First.\n\nhalf an ");
      expect(events.at(-1)).toMatchObject({ status: { state: "completed" } });
      const task = (await eventsOf(loop.resume("t1")))[0] as Task;
      expect(textOf(task)).toBe("First.\n\nhalf an answer");
      expect(runs).toBe(1);
      expect(model.requests).toHaveLength(3);
    },
  );

  verifies("R51", "a canceled task ends its stream, and its tool is aborted", async () => {
    const started = Promise.withResolvers<void>();
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
          started.resolve();
        }),
    });
    const loop = new AgentLoop({ model: scriptedModel([calls("slow")]), tools: [slow] });
    const events = eventsOf(loop.execute("go", { taskId: "t1" }));
    await started.promise;

    await loop.cancel("t1");

    expect((await events).at(-1)).toMatchObject({ status: { state: "canceled" }, final: true });
    expect(reason).toBeInstanceOf(Error);
    await expect(loop.cancel("t1")).rejects.toThrow(A2AError);
    await expect(loop.cancel("t2")).rejects.toThrow("there is no task t2");
  });

  test("a task that does not wait accepts no message", async () => {
    const loop = aLoop();
    await loop.invokeSync([{ kind: "text", text: "go" }], { taskId: "t1" });

    await expect(eventsOf(loop.execute("more", { taskId: "t1" }))).rejects.toThrow(
      "task t1 is completed and accepts no more messages",
    );
  });

  verifies(
    "R49",
    "an unexpected error fails the task with an errorId, and its text is not sent",
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

/** Unsubscribes at the first matching event. */
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

/** The texts of the chunks of the answer, in order, without the empty one that ends it. */
function chunks(events: readonly AgentEvent[]): readonly string[] {
  return events.flatMap((event) => {
    if (event.kind !== "artifact-update") return [];
    const [part] = (event as ArtifactUpdateEvent).artifact.parts;
    return part?.kind === "text" && part.text !== "" ? [part.text] : [];
  });
}
