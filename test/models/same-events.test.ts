import { type ScriptTurn, scriptedModel, startScriptedModelServer } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { answerOf, normalised } from "./requests.ts";

const PROVIDERS = ["anthropic", "google", "openai", "openai-compatible", "ollama"] as const;

const USAGE = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 40, reasoningTokens: 5 };

const SCRIPTS: Readonly<Record<string, ScriptTurn>> = {
  "a text": "It is sunny in Rome, and 24 degrees: “bel tempo” 🌞.",
  "a text that was cut by its length": [
    { kind: "text", text: "It is" },
    { kind: "finish", reason: "length" },
  ],
  "a text that a filter ended": [
    { kind: "text", text: "I will not" },
    { kind: "finish", reason: "content-filter" },
  ],
  "usage with cached and thought tokens": [
    { kind: "text", text: "Counted." },
    { kind: "finish", usage: USAGE },
  ],
  "a thought, a text and two tools at once": [
    { kind: "reasoning", text: "I need two cities.", signature: "signed" },
    { kind: "text", text: "I look at both." },
    { kind: "tool-call", toolName: "weather", input: { city: "Rome" } },
    { kind: "tool-call", toolName: "weather", input: { city: 'A "quoted" name\n' } },
  ],
  "a tool without arguments": { kind: "tool-call", toolName: "weather", input: {} },
};

describe("the same script is the same answer through every provider", () => {
  test.each(Object.entries(SCRIPTS))("%s", async (_, turn) => {
    const server = await startScriptedModelServer(PROVIDERS.map(() => numbered(turn)));
    const expected = normalised(await answerOf(scriptedModel([numbered(turn)])));

    for (const provider of PROVIDERS) {
      const events = await answerOf(await server.model(provider));
      expect(normalised(events), provider).toEqual(expected);
    }

    expect(server.requests).toHaveLength(PROVIDERS.length);
    expect(server.requests.map(({ closedEarly }) => closedEarly)).not.toContain(true);
    await server.close();
  });

  test("the sources of an answer", async () => {
    const providers = ["anthropic", "google", "openai"] as const;
    const server = await startScriptedModelServer(
      providers.map((): ScriptTurn => [
        { kind: "text", text: "Rome is old." },
        { kind: "source", url: "https://example.com/rome", title: "Rome" },
      ]),
    );

    for (const provider of providers) {
      const events = await answerOf(await server.model(provider));
      const sources = events.filter(({ kind }) => kind === "source");
      expect(sources, provider).toEqual([
        { kind: "source", url: "https://example.com/rome", title: "Rome" },
      ]);
    }
    await server.close();
  });

  test("an image that the model created", async () => {
    const server = await startScriptedModelServer([
      { kind: "file", mediaType: "image/png", bytes: "iVBORw0KGgo=" },
    ]);

    const [file] = await answerOf(await server.model("google"));

    expect(file).toEqual({ kind: "file", mediaType: "image/png", bytes: "iVBORw0KGgo=" });
    await server.close();
  });
});

/** The ids of tool calls continue through the script of a server; here each answer starts over. */
function numbered(turn: ScriptTurn): ScriptTurn {
  if (typeof turn === "string") return turn;
  return [turn].flat().map((step, index) => {
    return step.kind === "tool-call" ? { ...step, toolCallId: `call_${index}` } : step;
  });
}
