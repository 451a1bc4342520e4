import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Agent } from "@convoke/protocol";
import {
  type ModelAgentDefinition,
  type ModelSpec,
  defineAgent,
  inputRequired,
  tool,
} from "@convoke/runtime";
import { type ScriptedTurn, scriptedModel } from "@convoke/runtime/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../cli/testing/run-cli.suite.ts";
import { ReplayError, say } from "./index.ts";
import type { Recording } from "./recording.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "convoke-recordings-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** How often a real tool ran. */
let runs = 0;

const weather = tool({
  name: "weather",
  description: "The weather in a city.",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  async *run({ city }) {
    runs += 1;
    yield "looking ";
    yield "it up";
    return `Sunny in ${String(city)}.`;
  },
});

const asksWeather: ScriptedTurn = [
  { kind: "reasoning", text: "I need the weather.", signature: "opaque" },
  { kind: "tool-call", toolName: "weather", input: { city: "Rome" } },
];

function anAgent(model: ModelSpec, more: Partial<ModelAgentDefinition> = {}): Agent {
  return defineAgent({
    name: "guide",
    description: "Knows the city.",
    model,
    instructions: "You are a guide.\nBe brief.",
    tools: [weather],
    ...more,
  });
}

/** A model that fails if it is asked: its key is missing. */
const NO_MODEL = { model: "anthropic:none", modelOptions: { environment: {} } };

async function recorded(
  name: string,
  turns: readonly ScriptedTurn[] = [asksWeather, "It is sunny."],
): Promise<string> {
  const file = join(folder, `${name}.json`);
  await say(anAgent(scriptedModel(turns)), "How is Rome?", { record: file });
  return file;
}

async function read(file: string): Promise<Recording> {
  return JSON.parse(await readFile(file, "utf8")) as Recording;
}

test("a recorded run is replayed without the model and without running a tool", async () => {
  const file = join(folder, "whole.json");
  const model = scriptedModel([asksWeather, "It is sunny."]);
  const real = await say(anAgent(model), "How is Rome?", { record: file });
  const before = runs;

  const replayed = await say(anAgent("demo", NO_MODEL), "How is Rome?", { replay: file });

  expect(replayed.text).toBe("It is sunny.");
  expect(replayed.text).toBe(real.text);
  expect(runs).toBe(before);
});

test("a recording is short and says what was asked and answered", async () => {
  const { calls, ...rest } = await read(await recorded("form"));

  expect(rest).toEqual({ format: "convoke-recording", version: 1 });
  const input = { city: "Rome" };
  const call = { toolCallId: "call_1", toolName: "weather", input };
  expect(calls).toMatchObject([
    {
      kind: "model",
      model: "scripted",
      prompt: {
        instructions: "You are a guide.\nBe brief.",
        tools: { weather: expect.stringMatching(/^[0-9a-f]{16}$/) },
      },
      messages: [{ role: "user", parts: [{ kind: "text", text: "How is Rome?" }] }],
      answer: {
        content: [
          { kind: "reasoning", text: "I need the weather." },
          { kind: "tool-call", ...call },
        ],
        finish: "tool-calls",
      },
    },
    {
      kind: "tool",
      ...call,
      events: [{ kind: "tool:output", text: "looking it up" }],
      result: "Sunny in Rome.",
    },
    {
      kind: "model",
      keeps: 1,
      messages: [{ role: "assistant" }, { role: "tool" }],
      answer: { content: [{ kind: "text", text: "It is sunny." }] },
    },
  ]);
  expect(calls[2]).not.toHaveProperty("prompt");
});

test("an agent with another prompt is rejected with the lines that differ", async () => {
  const file = await recorded("prompt");
  const changed = anAgent("demo", { ...NO_MODEL, instructions: "You are a guide.\nBe polite." });

  const error = await say(changed, "How is Rome?", { replay: file }).catch(String);

  expect(error).toContain("ReplayError: Request 1 to the model is another one.");
  expect(error).toMatch(/^ *\d+ - Be brief\.",?$/m);
  expect(error).toMatch(/^ *\d+ \+ Be polite\.",?$/m);
  expect(error).not.toMatch(/^ *\d+ [-+].*You are a guide/m);
  expect(error).toContain(`in the recording ${file}`);
});

test.each<[string, Partial<ModelAgentDefinition>, RegExp]>([
  [
    "another description of a tool",
    { tools: [{ ...weather, description: "Tells the weather." }] },
    /- .*"weather": "[0-9a-f]+"[\s\S]+\+ .*"weather": "[0-9a-f]+"/,
  ],
  [
    "other arguments",
    {
      hooks: {
        beforeTool: ({ toolCallId, toolName }) => ({
          toolCallId,
          toolName,
          input: { city: "Oslo" },
        }),
      },
    },
    /runs weather with other arguments[\s\S]+- .*"city": "Rome"[\s\S]+\+ .*"city": "Oslo"/,
  ],
])("an agent with %s is rejected", async (_, change, difference) => {
  const file = await recorded("change");

  const replayed = say(anAgent("demo", { ...NO_MODEL, ...change }), "How is Rome?", {
    replay: file,
  });

  await expect(replayed).rejects.toThrow(ReplayError);
  await expect(replayed).rejects.toThrow(difference);
});

test("an agent that asks for less, or for more, is rejected", async () => {
  const file = await recorded("rest");
  const recording = await read(file);
  const [first] = recording.calls;
  const shorter = join(folder, "shorter.json");
  await writeFile(shorter, JSON.stringify({ ...recording, calls: recording.calls.slice(0, 2) }));
  const longer = join(folder, "longer.json");
  await writeFile(longer, JSON.stringify({ ...recording, calls: [...recording.calls, first] }));
  const replay = (name: string) => say(anAgent("demo", NO_MODEL), "How is Rome?", { replay: name });

  await expect(replay(shorter)).rejects.toThrow("asks the model again after all 1 answers");
  await expect(replay(longer)).rejects.toThrow("Not asked for: model answer 3");
});

test("questions, approvals and failures are replayed, and attempts that were repeated are not recorded", async () => {
  const file = join(folder, "questions.json");
  const asks = tool({
    name: "book",
    description: "Books.",
    confirm: "ask",
    run: (_, { answers }) => {
      if (!answers.has("when")) return inputRequired("When?", { requestId: "when" });
      throw new Error("fully booked");
    },
  });
  const turns: ScriptedTurn[] = [
    { kind: "error", status: 529 },
    { kind: "tool-call", toolName: "book", input: {} },
    "Sorry.",
  ];
  const options = { answers: ["approve", "Monday"] };
  const tools = [asks];
  const retry = { firstWaitMs: 1 };
  const agent = anAgent(scriptedModel(turns), { tools, retry });

  const real = await say(agent, "Book.", { ...options, record: file });
  const replayed = await say(anAgent("demo", { ...NO_MODEL, tools }), "Book.", {
    ...options,
    replay: file,
  });

  expect(real.text).toBe("Sorry.");
  expect(replayed.text).toBe("Sorry.");
  const { calls } = await read(file);
  expect(calls.map(({ kind }) => kind)).toEqual(["model", "tool", "tool", "model"]);
  expect(calls[2]).toMatchObject({ approved: true, error: "Tool book failed: fully booked" });
});

test("sub-agents are recorded as one call, and not called in a replay", async () => {
  const file = join(folder, "sub-agents.json");
  let calls = 0;
  const trains = defineAgent({
    name: "trains",
    description: "Knows the trains.",
    run: () => {
      calls += 1;
      return "Platform 4.";
    },
  });
  const turns: ScriptedTurn[] = [
    { kind: "tool-call", toolName: "trains", input: { message: "Rome" } },
    "Take platform 4.",
  ];
  const agent = anAgent(scriptedModel(turns), { tools: [], subAgents: { trains } });
  await say(agent, "To Rome.", { record: file });

  // The sub-agent is elsewhere now, and down.
  const subAgents = { trains: "http://127.0.0.1:1/" };
  const replayed = anAgent("demo", { ...NO_MODEL, tools: [], subAgents });
  const { text } = await say(replayed, "To Rome.", { replay: file });

  expect(text).toBe("Take platform 4.");
  expect(calls).toBe(1);
  expect((await read(file)).calls).toHaveLength(3);
});

test("secrets are not in a recording", async () => {
  const file = join(folder, "secrets.json");
  const login = tool({
    name: "login",
    description: "Signs in.",
    run: (_, { answers }) => {
      const pin = answers.get("pin")?.text;
      if (pin === undefined) {
        return inputRequired("Your PIN?", { requestId: "pin", sensitive: true });
      }
      return `${pin} and ${process.env["REPLAY_TEST_API_KEY"]} and a given-secret`;
    },
  });
  process.env["REPLAY_TEST_API_KEY"] = "environment-secret";
  try {
    const turns: ScriptedTurn[] = [{ kind: "tool-call", toolName: "login", input: {} }, "In."];
    const options = { answers: ["my-pin-1234"], secrets: ["given-secret"] };
    const tools = [login];

    await say(anAgent(scriptedModel(turns), { tools }), "Go.", { ...options, record: file });
    const { text } = await say(anAgent("demo", { ...NO_MODEL, tools }), "Go.", {
      ...options,
      replay: file,
    });

    expect(text).toBe("In.");
    const written = await readFile(file, "utf8");
    expect(written).toContain("[hidden] and [hidden] and a [hidden]");
    expect(written).not.toMatch(/my-pin|environment-secret|given-secret/);
  } finally {
    delete process.env["REPLAY_TEST_API_KEY"];
  }
});

test("a file that is no recording, or of another version, is rejected with what to do", async () => {
  const file = join(folder, "other.json");
  const replay = () => say(anAgent("demo"), "Hi.", { replay: file });

  await expect(replay()).rejects.toThrow("cannot be read; record it with: convoke record");
  await writeFile(file, "{}");
  await expect(replay()).rejects.toThrow("is not a recording");
  await writeFile(file, JSON.stringify({ format: "convoke-recording", version: 9, calls: [] }));
  await expect(replay()).rejects.toThrow("has version 9, and this is version 1");
});

test("convoke record writes the recording of an agent's file and prints the answer", async () => {
  const file = join(folder, "agent.ts");
  const out = join(folder, "cli.json");
  const runtime = import.meta.resolve("@convoke/runtime");
  await writeFile(
    file,
    `import { defineAgent } from ${JSON.stringify(runtime)};
     export default defineAgent({ name: "a", description: "Says hello.", model: "demo" });`,
  );

  const finished = await runCli(["record", file, "hello", "--out", out]);

  expect(finished.code, finished.stderr).toBe(0);
  expect(finished.stderr).toContain(`recorded in ${out}`);
  const agent = defineAgent({ name: "a", description: "Says hello.", ...NO_MODEL });
  const { text } = await say(agent, "hello", { replay: out });
  expect(`${text}\n`).toBe(finished.stdout);
});

test("convoke record names what is missing on its command line", async () => {
  expect((await runCli(["record", "agent.ts", "hello"])).stderr).toContain("--out");
  expect((await runCli(["record", "agent.ts"])).stderr).toContain("Write the message");
});
