import { createAnthropic } from "@ai-sdk/anthropic";
import {
  type ScriptStep,
  type ScriptTurn,
  type ServedProvider,
  scriptedModel,
  startScriptedModelServer,
} from "@convoke/runtime/testing";
import { type ModelUnderTest, describeModel } from "@convoke/runtime/testing/model-contract";
import { demoModel } from "../../packages/runtime/src/models/demo/demo-model.ts";
import { resolveModel } from "../../packages/runtime/src/models/resolve-model.ts";
import { WEATHER, aRequest } from "./requests.ts";

const CALLS: readonly ScriptStep[] = [
  { kind: "text", text: "Let me look." },
  { kind: "tool-call", toolName: "weather", input: { city: "Rome" } },
  { kind: "tool-call", toolName: "weather", input: { city: "Reykjavík, in the north" } },
];

/** What the scripts of these models answer, by the user's request. */
const SCRIPT: Readonly<Record<string, ScriptTurn>> = {
  text: "It is sunny in Rome.",
  calls: CALLS,
  thought: [
    { kind: "reasoning", text: "The user wants to know the weather." },
    { kind: "text", text: "It is sunny." },
  ],
  endless: [{ kind: "text", text: "Well, " }, { kind: "silence" }],
  failing: { kind: "error", status: 500 },
};

function scriptFor(text: string): ScriptTurn {
  return SCRIPT[text] ?? "Nothing is scripted for that.";
}

describeModel("demo", async (): Promise<ModelUnderTest> => {
  const model = demoModel({ wordDelayMs: 0 });
  const slow = demoModel({ wordDelayMs: 50 });
  const clock = { ...WEATHER, name: "clock" };
  return {
    text: () => ({ model, request: aRequest("hello") }),
    toolCalls: () => ({
      model,
      request: aRequest("weather(city=Rome) and clock", { tools: [WEATHER, clock] }),
    }),
    reasoning: () => ({ model, request: aRequest("think") }),
    endless: () => ({ model: slow, request: aRequest("count to 10000") }),
    failing: () => ({ model, request: aRequest("fail") }),
  };
});

describeModel("scripted", async (): Promise<ModelUnderTest> => {
  const model = (text: string) => ({
    model: scriptedModel([scriptFor(text)]),
    request: aRequest(text),
  });
  return {
    text: () => model("text"),
    toolCalls: () => model("calls"),
    reasoning: () => model("thought"),
    endless: () => model("endless"),
    failing: () => model("failing"),
  };
});

for (const provider of [
  "anthropic",
  "google",
  "openai",
  "ollama",
  "openai-compatible",
] satisfies readonly ServedProvider[]) {
  describeModel(provider, () => served((server) => server.model(provider)));
}

describeModel("a model object of the AI SDK", () =>
  served((server) => {
    const baseURL = server.environment["ANTHROPIC_BASE_URL"] ?? "";
    return resolveModel(createAnthropic({ apiKey: "key", baseURL })("claude-sonnet-4-5"));
  }),
);

async function served(
  open: (
    server: Awaited<ReturnType<typeof startScriptedModelServer>>,
  ) => ReturnType<typeof resolveModel>,
): Promise<ModelUnderTest> {
  const server = await startScriptedModelServer(({ text }) => scriptFor(text));
  const model = await open(server);
  const ask = (text: string) => ({ model, request: aRequest(text) });
  return {
    text: () => ask("text"),
    toolCalls: () => ask("calls"),
    reasoning: () => ask("thought"),
    endless: () => ask("endless"),
    failing: () => ask("failing"),
    openRequests: () => server.requests.filter(({ isOpen }) => isOpen).length,
    close: () => server.close(),
  };
}
