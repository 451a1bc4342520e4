import { defineAgent } from "convoke";
import { type AgentEvent, type Turn, agentMessage, textOf, textOfParts } from "@convoke/protocol";
import { cancelTask, isSettled } from "@convoke/engine";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { CALLER, anEngine, tell } from "./an-engine.ts";

const INFO = defineAgent({
  name: "Raw",
  description: "Yields events of its own making.",
  run: () => "",
}).info;

/** An agent that yields exactly these events. */
function rawAgent(run: (turn: Turn) => AsyncIterable<AgentEvent>) {
  return { info: INFO, run };
}

function statusOf(
  { task }: Turn,
  state: "submitted" | "working" | "completed" | "input-required",
  text?: string,
): AgentEvent {
  const message = text === undefined ? {} : { message: agentMessage(`${state}-message`, text) };
  return {
    kind: "status-update",
    taskId: task.id,
    contextId: task.contextId,
    status: { state, ...message },
    final: false,
  };
}

describe("states", () => {
  verifies(
    "G5",
    "an agent that moves its task backwards fails it, and the status says so",
    async () => {
      const agent = rawAgent(async function* (turn) {
        yield statusOf(turn, "submitted");
      });
      const { live } = await tell(anEngine(agent), "go");

      await live.until(isSettled);

      expect(live.task.status.state).toBe("failed");
      expect(textOfParts(live.task.status.message!.parts)).toContain(
        "cannot go from working to submitted",
      );
    },
  );

  verifies("G5", "nothing is appended after the end, and the agent is stopped there", async () => {
    let isStopped = false;
    const agent = rawAgent(async function* (turn) {
      try {
        yield statusOf(turn, "completed", "done");
        yield statusOf(turn, "working", "not done");
      } finally {
        isStopped = true;
      }
    });
    const { live } = await tell(anEngine(agent), "go");

    await live.until(isSettled);
    await expect.poll(() => isStopped, { timeout: 20_000 }).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 20));

    expect(live.task.status.message?.messageId).toBe("completed-message");
    expect(live.writer.head).toBe(3);
  });

  test("`final` depends on the state, regardless of what the agent sets", async () => {
    const agent = rawAgent(async function* (turn) {
      yield { ...statusOf(turn, "working", "still at it"), final: true } as AgentEvent;
      yield statusOf(turn, "input-required", "and you?");
    });
    const engine = anEngine(agent);
    const { live } = await tell(engine, "go");

    await live.until(isSettled);

    const events = (await engine.backend.read(live.task.id, 0, 10)).map(
      ({ json }) => JSON.parse(json) as { final?: boolean },
    );
    expect(events.map(({ final }) => final)).toEqual([undefined, false, false, true, undefined]);
  });
});

describe("a turn that ended with a question", () => {
  /** Asks in its first turn and uses the answer in its second: nothing is kept in memory between them. */
  const agent = rawAgent(async function* (turn) {
    if (turn.conversation.length === 0) {
      yield statusOf(turn, "input-required", "What is your name?");
      return;
    }
    const said = turn.conversation.map(({ role, parts }) => `${role}: ${textOfParts(parts)}`);
    yield statusOf(
      turn,
      "completed",
      [...said, `user: ${textOfParts(turn.message.parts)}`].join(" | "),
    );
  });

  test("continues in a new run that knows the conversation", async () => {
    const engine = anEngine(agent);
    const { live } = await tell(engine, "hello");
    await live.until(isSettled);

    const answered = await tell(engine, "Ann", { taskId: live.task.id });
    await answered.live.until(isSettled);

    expect(textOf(answered.live.task)).toBe("user: hello | agent: What is your name? | user: Ann");
  });
});

describe("cancel", () => {
  verifies(
    "G10",
    "an agent that ignores its signal is fenced off, and its later output is dropped",
    async () => {
      const talk = Promise.withResolvers<void>();
      let wasHeard = true;
      const agent = rawAgent(async function* (turn) {
        await talk.promise;
        try {
          yield statusOf(turn, "completed", "I did it anyway");
          yield statusOf(turn, "completed", "and again");
        } finally {
          wasHeard = false;
        }
      });
      const engine = anEngine(agent);
      const { live } = await tell(engine, "go");

      const canceled = await cancelTask(engine, live.task.id, CALLER);
      const { head } = live.writer;
      talk.resolve();
      await expect.poll(() => wasHeard).toBe(false);

      expect(canceled.status.state).toBe("canceled");
      expect(live.task.status.state).toBe("canceled");
      expect(live.writer.head).toBe(head);
    },
  );
});
