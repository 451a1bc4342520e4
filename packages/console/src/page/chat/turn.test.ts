import {
  type AgentEvent,
  type ArtifactUpdateEvent,
  type Message,
  type Task,
  agentMessage,
  userMessage,
} from "@convoke/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Turn, answerText, applyToTurn, startTurn } from "./turn.ts";

const IDS = { taskId: "t", contextId: "c" } as const;

const asked = userMessage("m1", "hello");

const TASK: Task = {
  kind: "task",
  id: "t",
  contextId: "c",
  status: { state: "submitted" },
  history: [asked],
};

function after(events: readonly AgentEvent[], turn: Turn = startTurn(asked)): Turn {
  return events.reduce(applyToTurn, turn);
}

function chunk(text: string, append = true): ArtifactUpdateEvent {
  const artifact = { artifactId: "answer", parts: [{ kind: "text", text }] } as const;
  return { kind: "artifact-update", ...IDS, artifact, append };
}

function statusUpdate(state: Task["status"]["state"], message?: Message): AgentEvent {
  const status = { state, ...(message && { message }) };
  return { kind: "status-update", ...IDS, status, final: false };
}

describe("a turn of a conversation", () => {
  test("begins with the message that is sent, and does not repeat it when the task has it", () => {
    expect(after([TASK]).items).toEqual([{ kind: "message", message: asked }]);
  });

  test("has the text of the answer once, whether it came in chunks, as a whole, or both", () => {
    const words = fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(words, fc.nat(), (chunks, place) => {
        const events = chunks.map((text, index) => chunk(text, index > 0));
        const cut = place % (chunks.length + 1);
        const text = chunks.join("");
        const whole: Task = {
          ...TASK,
          artifacts: [{ artifactId: "answer", parts: [{ kind: "text", text }] }],
        };

        // A snapshot after some of the chunks, as after a lost connection.
        const turn = after([TASK, ...events.slice(0, cut), whole]);

        expect(answerText(turn)).toBe(text);
        expect(answerText(after([TASK, ...events]))).toBe(text);
      }),
      { numRuns: 100 },
    );
  });

  test("is marked where the agent begins its answer again, unless it only adds to it", () => {
    const turn = after([TASK, chunk("one ", false), chunk("one two ", false)]);
    expect(turn.items.slice(1)).toEqual([{ kind: "text", artifactId: "answer", text: "one two " }]);

    const again = after([chunk("two ", false), chunk("three")], turn);
    expect(again.items.slice(1)).toEqual([
      { kind: "text", artifactId: "answer", text: "two three", isAgain: true },
    ]);
  });

  test("shows tool calls between the parts of the answer, with their results", () => {
    const [use, result] = [
      { toolUseId: "1", name: "weather", input: { city: "Rome" } },
      { toolUseId: "1", name: "weather", result: "sunny" },
    ].map((data, place) =>
      statusUpdate(
        "working",
        agentMessage(`s${place}`, [
          {
            kind: "data",
            data,
            metadata: {
              "https://convoke.dev/extensions/tool-activity/v1": {
                type: place === 0 ? "tool-use" : "tool-result",
              },
            },
          },
        ]),
      ),
    );
    const turn = after([TASK, chunk("Let me see. ", false), use!, result!, chunk("Sunny.")]);

    expect(turn.items.slice(1)).toEqual([
      { kind: "text", artifactId: "answer", text: "Let me see. " },
      {
        kind: "tool",
        id: "1",
        name: "weather",
        input: { city: "Rome" },
        outcome: { isError: false, value: "sunny" },
      },
      { kind: "text", artifactId: "answer", text: "Sunny." },
    ]);
  });

  test("keeps questions and their answers, and no progress or repeated answers", () => {
    const question = agentMessage("q", "Which colour?");
    const answer = userMessage("a", "red");
    const turn = after([
      TASK,
      statusUpdate("working", agentMessage("p", "thinking")),
      statusUpdate("input-required", question),
      { kind: "internal:message", message: answer, taskId: "t" } as unknown as AgentEvent,
      chunk("You like red.", false),
      statusUpdate("completed", agentMessage("f", "You like red.")),
    ]);

    expect(turn.items.map((item) => (item.kind === "message" ? item.message : item.kind))).toEqual([
      asked,
      question,
      answer,
      "text",
    ]);
    expect(turn.task?.status.state).toBe("completed");
  });

  test("shows what was made beside the answer", () => {
    const artifact = {
      artifactId: "f",
      name: "a.csv",
      parts: [{ kind: "text", text: "a,b" }],
    } as const;
    const turn = after([TASK, { kind: "artifact-update", ...IDS, artifact }]);

    expect(turn.items.at(-1)).toEqual({ kind: "artifact", artifactId: "f" });
    expect(answerText(turn)).toBe("");
  });
});
