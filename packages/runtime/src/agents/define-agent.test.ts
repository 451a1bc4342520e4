import { describe, expect, test } from "vitest";
import { type AgentDefinition, defineAgent } from "./define-agent.ts";
import type { FunctionTurn } from "../functions/function-turn.ts";
import { aChunk, aTurn, eventsOf } from "../testing/a-turn.suite.ts";

function aDefinition(overrides: object = {}): AgentDefinition {
  return {
    name: "Greeter",
    description: "Greets people by name.",
    run: ({ text }) => `Hello, ${text}!`,
    ...overrides,
  };
}

test("an agent without options has one skill, text and JSON, and a version", () => {
  const agent = defineAgent(aDefinition());

  expect(agent.info).toEqual({
    name: "Greeter",
    description: "Greets people by name.",
    version: "1.0.0",
    skills: [
      {
        id: "greeter",
        name: "Greeter",
        description: "Greets people by name.",
        tags: ["greeter"],
      },
    ],
    inputModes: ["text/plain", "application/json"],
    outputModes: ["text/plain", "application/json"],
    replies: false,
    keepStreamOnInterrupt: false,
    takesMessages: false,
    restart: false,
  });
});

test("an agent's own options are used", () => {
  const told = {
    version: "2.1.0",
    skills: [{ id: "hi", name: "Hi", description: "Says hi.", tags: [] }],
    inputModes: ["text/markdown"],
    outputModes: ["image/png"],
    replies: true,
    keepStreamOnInterrupt: true,
    extensions: [{ uri: "https://example.com/extensions/formality/v1", required: true }],
  };

  expect(defineAgent(aDefinition(told)).info).toMatchObject(told);
});

test("a name with spaces makes a skill id without", () => {
  const [skill] = defineAgent(aDefinition({ name: "Sales Report 2" })).info.skills;

  expect(skill).toMatchObject({ id: "sales-report-2", name: "Sales Report 2" });
});

describe("an invalid definition is rejected immediately, with what is missing", () => {
  test.each([
    ["a name", { name: undefined }],
    ["a name", { name: "" }],
    ["a name", { name: "  " }],
    ["a name", { name: 5 }],
    ["a description", { description: undefined }],
    ["a description", { description: " " }],
    ["a run function or a model", { run: undefined }],
    ["a run function or a model", { run: "hello" }],
  ])("%s: %j", (what, overrides) => {
    expect(() => defineAgent(aDefinition(overrides))).toThrow(
      new TypeError(`defineAgent needs ${what}: defineAgent({ name, description, run })`),
    );
  });
});

test.each([
  [{ decription: "x" }, 'defineAgent has no option "decription". Did you mean description?'],
  [{ inputTimeOut: 5 }, 'defineAgent has no option "inputTimeOut". Did you mean inputTimeout?'],
  [{ xyzzy: 5 }, 'defineAgent has no option "xyzzy". The options are allowsCycles, '],
])("a mistyped option is an error that names the closest one: %j", (typo, problem) => {
  expect(() => defineAgent(aDefinition(typo))).toThrow(problem);
});

test("sideEffects is for functions: a model costs money", () => {
  const pure = { sideEffects: false };

  expect(defineAgent(aDefinition(pure)).info).toMatchObject(pure);
  expect(defineAgent(aDefinition({ sideEffects: true })).info).not.toHaveProperty("sideEffects");
  expect(() => defineAgent(aDefinition({ ...pure, run: undefined, model: "demo" }))).toThrow(
    "sideEffects is for agents with a run function: leave it out",
  );
});

test("an extension that could not be declared is rejected immediately", () => {
  const extensions = [{ uri: "formality" }];

  expect(() => defineAgent(aDefinition({ extensions }))).toThrow(
    'extensions[0].uri must be an absolute URI such as https://…/v1, not "formality"',
  );
});

test("a function sees which extensions are active, and the chosen skill", async () => {
  const agent = defineAgent(
    aDefinition({
      run: ({ extensions, skill }: FunctionTurn) => `${[...extensions].join()} ${skill}`,
    }),
  );
  const { turn } = aTurn();

  const told = await eventsOf(
    agent.run({ ...turn, extensions: new Set(["urn:x:1"]), skill: "greet" }),
  );

  expect(told).toEqual([aChunk("urn:x:1 greet", { append: false, lastChunk: true })]);
});

test("each turn is a separate run, and run may use `this`", async () => {
  const agent = defineAgent({
    ...aDefinition(),
    run() {
      return `${this.name}!`;
    },
  });

  const runs = await Promise.all([1, 2].map(() => eventsOf(agent.run(aTurn().turn))));

  const greeting = aChunk("Greeter!", { append: false, lastChunk: true });
  expect(runs).toEqual([[greeting], [greeting]]);
});
