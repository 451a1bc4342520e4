import { expect, test } from "vitest";
import { agentMessage, userMessage } from "./message.ts";
import { textPart } from "./part.ts";
import { aTask } from "./testing/arbitraries.suite.ts";
import { textOf, textOfParts } from "./text-of.ts";

const question = userMessage("m1", "how warm is it?");
const answer = agentMessage("m2", "warm");
const artifacts = [
  { artifactId: "a1", parts: [textPart("21 "), textPart("degrees")] },
  { artifactId: "a2", parts: [{ kind: "data", data: { celsius: 21 } }] },
  { artifactId: "a3", parts: [textPart("no wind")] },
] as const;

test("the text of parts is their texts without anything between", () => {
  expect(textOfParts([textPart("a"), { kind: "data", data: 1 }, textPart("b")])).toBe("ab");
  expect(textOfParts([])).toBe("");
});

test("what an agent made is its answer, one artifact to a line", () => {
  const task = aTask({
    artifacts,
    history: [answer],
    status: { state: "completed", message: question },
  });

  expect(textOf(task)).toBe("21 degrees\nno wind");
});

test("without artifacts the last word is the answer", () => {
  const status = { state: "completed", message: answer } as const;

  expect(textOf(aTask({ status }))).toBe("warm");
  expect(textOf(aTask({ history: [question, answer, question] }))).toBe("warm");
  expect(textOf(answer)).toBe("warm");
});

test("an agent that said nothing answered nothing", () => {
  expect(textOf(aTask({ history: [question] }))).toBe("");
});
