import { type A2APart, textOf } from "@convoke/protocol";
import {
  type ServedProvider,
  scriptedModel,
  startScriptedModelServer,
} from "@convoke/runtime/testing";
import { defineAgent } from "convoke";
import { say } from "convoke/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { LoopWorld } from "./a-loop-world.ts";
import { calls, echoTool, statusText } from "./scripts.ts";

const WEATHER = z.object({ city: z.string(), celsius: z.number(), unit: z.string().default("C") });

const JSON_SCHEMA = {
  type: "object",
  properties: { city: { type: "string" }, celsius: { type: "number" } },
  required: ["city", "celsius"],
} as const;

const ROME = { city: "Rome", celsius: 21 };

/** The parts of an artifact that has an object as text and as data. */
function both(data: object): readonly A2APart[] {
  return [
    { kind: "text", text: JSON.stringify(data) },
    { kind: "data", data },
  ];
}

test("a valid answer is one artifact with its text and its data, without the text before it", async () => {
  const model = scriptedModel([
    [{ kind: "text", text: "Let me see." }, calls("echo", { text: "a" })],
    JSON.stringify(ROME),
  ]);
  const world = new LoopWorld({ model, tools: [echoTool()], output: WEATHER });

  const task = await world.ask("go");

  expect(task.status.state).toBe("completed");
  expect(task.artifacts).toMatchObject([{ parts: both({ ...ROME, unit: "C" }) }]);
  expect(task.artifacts).toHaveLength(1);
  const updates = (await world.events(task.id)).filter(({ kind }) => kind === "artifact-update");
  expect(updates).toMatchObject([{ append: false, lastChunk: true }]);
});

test.each([
  ["a code block", '```json\n{"city": "Rome", "celsius": 21}\n```'],
  ["text around it", 'Here it is: {"city": "Rome", "celsius": 21}. Enjoy!'],
])("an answer in %s is parsed", async (_, answer) => {
  const world = new LoopWorld({ model: scriptedModel([answer]), output: JSON_SCHEMA });

  const { artifacts } = await world.ask("go");

  expect(artifacts?.[0]?.parts).toEqual(both(ROME));
});

test("an invalid answer is requested once more, with the validation error", async () => {
  const model = scriptedModel(['{"city": "Rome"}', JSON.stringify(ROME)]);
  const world = new LoopWorld({ model, output: JSON_SCHEMA });

  const task = await world.ask("go");

  expect(task.artifacts?.[0]?.parts).toEqual(both(ROME));
  expect(model.requests).toHaveLength(2);
  expect(model.requests[1]!.transcript.slice(1)).toEqual([
    { role: "assistant", content: [{ kind: "text", text: '{"city": "Rome"}' }] },
    {
      role: "user",
      parts: [
        {
          kind: "text",
          text: "Your answer does not fit the JSON Schema: celsius: is required. Answer again, with the JSON object only.",
        },
      ],
    },
  ]);
});

test("a second invalid answer fails the task, with a reason", async () => {
  const model = scriptedModel(["Sunny.", '{"city": 1, "celsius": 21}']);
  const world = new LoopWorld({ model, output: WEATHER });

  const task = await world.ask("go");

  expect(task.status.state).toBe("failed");
  expect(statusText(task)).toMatch(/^The model's answer does not fit the output schema .*city: /);
  expect(task.artifacts ?? []).toEqual([]);
  const last = (await world.events(task.id)).at(-1);
  expect(last).toMatchObject({ metadata: { reason: "output" } });
});

test("a process that dies before the repair does not request the first answer again", async () => {
  const model = scriptedModel([
    "Sunny.",
    [{ kind: "text", text: '{"ci' }, { kind: "silence" }],
    JSON.stringify(ROME),
  ]);
  const world = new LoopWorld({ model, output: JSON_SCHEMA });
  const taskId = await world.tell("go");
  await world.hasEvent(taskId, "internal:llm-call", 2);

  await world.restart();
  const task = await world.settled(taskId);

  expect(task.artifacts?.[0]?.parts).toEqual(both(ROME));
  expect(model.requests).toHaveLength(3);
  expect(model.requests[2]!.transcript).toEqual(model.requests[1]!.transcript);
});

describe.each(["anthropic", "google", "openai", "ollama", "openai-compatible"] as const)(
  "through the real provider %s",
  (provider: ServedProvider) => {
    test("the request asks for the schema, and the answer is parsed", async () => {
      const server = await startScriptedModelServer([JSON.stringify(ROME)]);
      onTestFinished(() => server.close());
      const world = new LoopWorld({ model: await server.model(provider), output: JSON_SCHEMA });

      const task = await world.ask("go");

      expect(textOf(task)).toBe(JSON.stringify(ROME));
      const { body } = server.requests[0]!;
      expect(JSON.stringify(body)).toContain("JSON Schema");
      expect(formatIn(body)).toMatchObject(FORMATS[provider]);
    });
  },
);

/** Where each provider has the format of the answer. */
function formatIn(body: Readonly<Record<string, unknown>>): object {
  const { output_config, generationConfig, text, response_format } = body;
  return (output_config ?? generationConfig ?? text ?? response_format) as object;
}

const PROPERTIES = { properties: JSON_SCHEMA.properties };

const FORMATS: Readonly<Record<ServedProvider, object>> = {
  anthropic: { format: { type: "json_schema", schema: PROPERTIES } },
  google: { responseMimeType: "application/json", responseJsonSchema: PROPERTIES },
  openai: { format: { type: "json_schema", schema: PROPERTIES } },
  ollama: { type: "json_object" },
  "openai-compatible": { type: "json_object" },
};

test("say returns it as output, also with the demo model", async () => {
  const facts = { name: "Weather", description: "Knows it.", output: WEATHER };
  const scripted = defineAgent({ ...facts, model: scriptedModel([JSON.stringify(ROME)]) });

  const { output, text } = await say<z.infer<typeof WEATHER>>(scripted, "Rome?");
  const demo = await say<z.infer<typeof WEATHER>>(defineAgent({ ...facts, model: "demo" }), "hi");

  expect(output?.celsius).toBe(21);
  expect(text).toBe(JSON.stringify({ ...ROME, unit: "C" }));
  expect(WEATHER.safeParse(demo.output).success).toBe(true);
});

test("a schema that is not an object is rejected when the agent is defined", () => {
  const facts = { name: "List", description: "Lists.", model: "demo" };

  expect(() => defineAgent({ ...facts, output: z.array(z.string()) })).toThrow(
    "output must be a schema of an object",
  );
});
