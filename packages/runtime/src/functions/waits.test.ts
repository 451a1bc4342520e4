import { type AgentEvent, type StatusUpdateEvent, userMessage } from "@convoke/protocol";
import { expect, test } from "vitest";
import { FunctionRun } from "./function-run.ts";
import { aTurn, eventsOf } from "../testing/a-turn.suite.ts";

/** The ids of the messages in which a turn asks, up to its end. */
async function questionIds(turn: ReturnType<typeof aTurn>["turn"]): Promise<readonly string[]> {
  const events: AgentEvent[] = [];
  const run = new FunctionRun(turn, async ({ ask }) => `${await ask("one?")} ${await ask("two?")}`);
  for await (const batch of run) events.push(...batch);
  return events.flatMap((event) => {
    const { status } = event as StatusUpdateEvent;
    return event.kind === "status-update" && status.message ? [status.message.messageId] : [];
  });
}

test("a question has the same id whether or not an earlier attempt asked those before it", async () => {
  const [, second] = await questionIds(aTurn({ answers: ["a", "b"] }).turn);
  const timestamp = "2026-01-31T12:00:00Z";
  const journal = [
    { kind: "internal:ask", taskId: "t1", question: "one?" },
    { kind: "internal:message", taskId: "t1", message: userMessage("m2", "a"), timestamp },
  ] as const;

  const again = await questionIds(aTurn({ answers: ["b"], journal }).turn);

  expect(second).toBeDefined();
  expect(again).toEqual([second]);
});

test("a journal of an earlier version, which asked again as another question, can be resumed", async () => {
  const note = (question: string) => ({ kind: "internal:ask", taskId: "t1", question }) as const;
  const answer = (text: string) => {
    const message = userMessage("m2", text);
    return { kind: "internal:message", taskId: "t1", message, timestamp: "" } as const;
  };
  const journal = [
    note("Refund? (Yes / No)"),
    answer("maybe"),
    note("Please answer with one of: Yes, No."),
    answer("yes"),
    note("Why?"),
    answer("broken"),
  ];
  const { turn } = aTurn({ journal, answers: ["none"] });
  let result: unknown;

  const run = new FunctionRun(turn, async ({ ask }) => {
    result = [await ask("Refund?", ["Yes", "No"]), await ask("Why?"), await ask("More?")];
  });
  const events = await eventsOf(run);

  expect(result).toEqual(["Yes", "broken", "none"]);
  expect(events).toHaveLength(1);
});
