import { defineAgent } from "convoke";
import {
  type AgentEvent,
  type Task,
  type TaskState,
  type Turn,
  agentMessage,
  applyEvent,
  textPart,
  userMessage,
} from "@convoke/protocol";
import { isSettled } from "@convoke/engine";
import { describe, expect, test } from "vitest";
import { eventsLeadingTo } from "../../packages/engine/src/task/snapshot-events.ts";
import { anEngine, memoryLogger, tell } from "./an-engine.ts";

const { info } = defineAgent({ name: "Raw", description: "Publishes tasks.", run: () => "" });

/** The task after a run that yields these events, and the log of the server. */
async function settled(run: (turn: Turn) => Iterable<AgentEvent | readonly AgentEvent[]>) {
  const logger = memoryLogger();
  const agent = {
    info,
    async *run(turn: Turn) {
      yield* run(turn);
    },
  };
  const { live } = await tell(anEngine(agent, undefined, { logger }), "go");
  await live.until(isSettled);
  return { task: live.task, head: live.writer.head, log: logger.lines.join("\n") };
}

const report = { artifactId: "report", parts: [textPart("All of it.")] };

function ended(task: Task, state: TaskState, text = "payment declined"): Task {
  return {
    ...task,
    status: { state, message: agentMessage("m-end", text) },
    artifacts: [...(task.artifacts ?? []), report],
    metadata: { ...task.metadata, cost: 3 },
  };
}

describe("an agent that publishes its task", () => {
  test.each(["failed", "rejected", "canceled", "completed", "input-required"] as const)(
    "as %s has exactly that task",
    async (state) => {
      const { task } = await settled(({ task: begun }) => [ended(begun, state)]);

      expect(task).toMatchObject({
        status: { state, message: { parts: [{ text: "payment declined" }] } },
        artifacts: [report],
        metadata: { cost: 3 },
      });
    },
  );

  test("as it got it adds nothing", async () => {
    const plain = await settled(() => []);
    const { task, head } = await settled(({ task: begun }) => [begun, begun, { ...begun }]);

    expect(task.status.state).toBe("completed");
    expect(head).toBe(plain.head);
  });

  test("again, later in the same batch, adds what is new", async () => {
    const update = {
      kind: "artifact-update",
      taskId: "",
      contextId: "",
      artifact: report,
    } as const;
    const { task, head } = await settled(({ task: begun }) => [
      [update, ended(begun, "completed", "Done.")],
    ]);
    const alone = await settled(({ task: begun }) => [ended(begun, "completed", "Done.")]);

    expect(task.artifacts).toEqual([report]);
    expect(task.status.message?.parts).toEqual([textPart("Done.")]);
    expect(head).toBe(alone.head);
  });

  test("keeps what its history says, and nothing of it twice", async () => {
    const { task } = await settled(({ task: begun }) => {
      const history = [
        ...(begun.history ?? []),
        agentMessage("m1", "One."),
        agentMessage("m2", "Two."),
      ];
      const working: Task = { ...begun, status: { state: "working" }, history };
      return [working, { ...working, status: { state: "completed" } }];
    });

    expect(task.history?.map(({ parts }) => parts)).toEqual([
      [textPart("go")],
      [textPart("One.")],
      [textPart("Two.")],
    ]);
  });

  test("has the metadata also in the task that a client rebuilds from the events", () => {
    const begun: Task = { kind: "task", id: "t", contextId: "c", status: { state: "working" } };
    const events = eventsLeadingTo({ ...begun, metadata: { cost: 3 } }, begun, "working");

    expect(events.reduce<Task | undefined>(applyEvent, begun)?.metadata).toEqual({ cost: 3 });
  });

  test.each([
    ["an id of another task", (task: Task) => ({ ...task, id: "other" }), /has the id .*other/],
    ["another context", (task: Task) => ({ ...task, contextId: "other" }), /has the contextId/],
    [
      "no status",
      (task: Task) => ({ ...task, status: undefined }) as unknown as Task,
      /has no status.state/,
    ],
    [
      "a text for a status message",
      (task: Task) => ({ ...task, status: { state: "failed", message: "no" } }) as unknown as Task,
      /status.message .* no parts/,
    ],
    [
      "a message of the caller that was not sent",
      (task: Task) => ({ ...task, history: [userMessage("m9", "I never said that.")] }),
      /was not sent: .*m9/,
    ],
  ])("with %s fails it, and the log has the reason", async (_, change, problem) => {
    const { task, log } = await settled(({ task: begun }) => [change(begun)]);

    expect(task.status.state).toBe("failed");
    expect(log).toMatch(/the agent failed/);
    expect(() => eventsLeadingTo(change(task), task, "working")).toThrow(problem);
  });
});
