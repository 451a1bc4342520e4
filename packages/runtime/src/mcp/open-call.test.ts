import type { CallToolResult, ElicitRequestParams } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import type { ToolContext } from "../tools/tool.ts";
import { elicitationAnswer } from "./elicitation.ts";
import { OpenCall } from "./open-call.ts";

const AGE = {
  mode: "form",
  message: "How old?",
  requestedSchema: { type: "object", properties: { age: { type: "number" } } },
} as ElicitRequestParams;

const DONE: CallToolResult = { content: [] };

/** A call whose server has asked for an age, and that is still running. */
function aQuestion() {
  const call = new OpenCall("files", "t1");
  const { promise, resolve: finish } = Promise.withResolvers<CallToolResult>();
  call.begin({ traceparent: "" }, () => promise);
  const question = new AbortController();
  const asked = call.ask(AGE, question.signal);
  return { call, finish, question, asked };
}

/** The round after the one that asked: with an answer with this text. */
async function roundWith(call: OpenCall, text: string) {
  const never = new AbortController().signal;
  const first = call.round({ stopped: never, answers: new Map() } as unknown as ToolContext);
  const { value } = await first.next();
  if (value?.kind !== "questions") throw new Error("the server was to ask something");
  const answers = new Map(
    value.interrupts.map(({ requestId }) => [requestId, { text, parts: [] }]),
  );
  return call.round({ stopped: never, answers } as unknown as ToolContext);
}

test("an invalid answer is asked for again, with the reason", async () => {
  const { call } = aQuestion();
  const round = await roundWith(call, "old");

  expect(await round.next()).toMatchObject({
    value: {
      kind: "questions",
      interrupts: [{ prompt: expect.stringMatching(/does not fit: age/) }],
    },
  });
});

test("a valid answer goes to the server, and its result is the end", async () => {
  const { call, finish, asked } = aQuestion();
  const round = await roundWith(call, "42");

  const end = round.next();

  expect(await asked).toEqual({ action: "accept", content: { age: 42 } });
  finish(DONE);
  expect(await end).toMatchObject({ value: { kind: "result", result: DONE } });
});

test("a call that ends while an answer is validated has ended, and asks nothing more", async () => {
  const { call, finish } = aQuestion();
  const round = await roundWith(call, "old");

  const end = round.next();
  finish(DONE);

  expect(await end).toMatchObject({ value: { kind: "result", result: DONE } });
});

test("a question that is withdrawn while its answer is validated is not asked again", async () => {
  const { call, finish, question, asked } = aQuestion();
  const round = await roundWith(call, "old");

  const end = round.next();
  question.abort();

  expect(await asked).toEqual({ action: "cancel" });
  // One that is validated later: then the first is done as well.
  await elicitationAnswer(AGE, { text: "old", parts: [] });
  finish(DONE);
  expect(await end).toMatchObject({ value: { kind: "result", result: DONE } });
});
