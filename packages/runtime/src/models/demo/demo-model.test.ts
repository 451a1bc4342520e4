import { describe, expect, test } from "vitest";
import type {
  ModelEvent,
  ModelRequest,
  ToolDescription,
  TranscriptEntry,
} from "../../model/model.ts";
import { demoModel } from "./demo-model.ts";

const WEATHER: ToolDescription = {
  name: "get-weather",
  description: "The weather in a city.",
  inputSchema: {
    type: "object",
    properties: {
      city: { type: "string" },
      days: { type: "integer", minimum: 2 },
      unit: { enum: ["celsius", "fahrenheit"] },
      note: { type: "string" },
    },
    required: ["city", "days", "unit"],
  },
};

const REFUND: ToolDescription = {
  name: "refund",
  description: "Gives money back. Somebody must approve it.",
  inputSchema: {
    type: "object",
    properties: { amount: { type: "number", exclusiveMinimum: 0, maximum: 5 } },
    required: ["amount"],
  },
};

const TRANSLATOR: ToolDescription = {
  name: "ask_translator",
  description: "Another agent, which translates.",
  inputSchema: {
    type: "object",
    properties: { message: { type: "string" } },
    required: ["message"],
  },
};

const TOOLS = [WEATHER, REFUND, TRANSLATOR];

describe("the demo model", () => {
  test("says that it is not an AI, and what to try", async () => {
    const text = textOf(await answerTo("hello"));

    expect(text).toMatch(/^Demo model, no AI\. I heard “hello”\./);
    for (const { name } of TOOLS) expect(text).toContain(`\`${name}\``);
  });

  test("answers the same request in the same way, word by word", async () => {
    const [one, two] = await Promise.all([answerTo("hello"), answerTo("hello")]);

    expect(one).toEqual(two);
    expect(one.filter(({ kind }) => kind === "text").length).toBeGreaterThan(10);
  });

  test("answers in other words each time on request", async () => {
    const [one, two] = (await Promise.all([answerTo("vary to 5"), answerTo("vary to 5")])).map(
      textOf,
    );

    expect(one).toMatch(/^Demo model, no AI\. In other words \(\w+\): 1 2 3 4 5$/);
    expect(two).not.toBe(one);
  });

  test.each([
    ["get-weather", { city: "demo city", days: 2, unit: "celsius" }],
    ["Please GET-WEATHER(city=Rome, days=3).", { city: "Rome", days: 3, unit: "celsius" }],
    ['get-weather("Rome, Italy", 7)', { city: "Rome, Italy", days: 7, unit: "celsius" }],
    [
      'use get-weather {"city": "Oslo", "unit": "fahrenheit"}',
      { city: "Oslo", days: 2, unit: "fahrenheit" },
    ],
    ['get-weather({"city": "Oslo", "days": 9})', { city: "Oslo", days: 9, unit: "celsius" }],
  ])("calls the named tool: %s", async (text, input) => {
    expect(callsOf(await answerTo(text))).toEqual([["get-weather", input]]);
  });

  test.each([
    [
      "What does get-weather say for Rome in the next 5 days, in fahrenheit?",
      { city: "Rome", days: 5, unit: "fahrenheit" },
    ],
    ['get-weather for "New Delhi"', { city: "New Delhi", days: 2, unit: "celsius" }],
    ["Get-weather, please", { city: "demo city", days: 2, unit: "celsius" }],
  ])("takes arguments from the sentence: %s", async (text, input) => {
    expect(callsOf(await answerTo(text))).toEqual([["get-weather", input]]);
  });

  test("uses the value of an unknown argument where it fits, and says so", async () => {
    const events = await answerTo("get-weather(town=Rome)");

    expect(callsOf(events)).toMatchObject([["get-weather", { city: "Rome" }]]);
    expect(textOf(events)).toContain(
      "`get-weather` has no argument `town`, so I use its value as `city`.",
    );
  });

  test("ignores an unknown argument that fits nowhere, and says so", async () => {
    const events = await answerTo("refund(amount=3, reason=late)");

    expect(callsOf(events)).toEqual([["refund", { amount: 3 }]]);
    expect(textOf(events)).toContain("`refund` has no argument `reason`, so I ignore it.");
  });

  test("calls all named tools, in their order", async () => {
    const calls = callsOf(await answerTo("refund(amount=3) and then get-weather(city=Rome)"));

    expect(calls.map(([name]) => name)).toEqual(["refund", "get-weather"]);
  });

  test("does not match a part of a word as a tool", async () => {
    expect(callsOf(await answerTo("are these refundable, or non-refund items?"))).toEqual([]);
  });

  test("finds a tool that needs approval, and another agent", async () => {
    expect(callsOf(await answerTo("show me an approval"))).toEqual([["refund", { amount: 1 }]]);
    expect(callsOf(await answerTo("ask another agent for help"))).toEqual([
      ["ask_translator", { message: "ask another agent for help" }],
    ]);
  });

  test("summarizes the results and errors of tools", async () => {
    const results = [
      { toolCallId: "demo-1", toolName: "refund", output: { paid: 3 }, isError: false },
      { toolCallId: "demo-2", toolName: "get-weather", output: "no such city", isError: true },
    ];

    const events = await answerTo("refund", { role: "tool", results });

    expect(textOf(events)).toBe(
      'Demo model, no AI. `refund` gave: {"paid":3}\n`get-weather` failed: no such city',
    );
    expect(callsOf(events)).toEqual([]);
  });

  test("never uses the same id for two calls of a conversation", async () => {
    const earlier: TranscriptEntry = {
      role: "assistant",
      content: [{ kind: "tool-call", toolCallId: "demo-1", toolName: "refund", input: "{}" }],
    };
    const again: TranscriptEntry = { role: "user", parts: [{ kind: "text", text: "refund" }] };

    const events = await answerTo("refund", earlier, again);

    expect(events.find(({ kind }) => kind === "tool-call")).toMatchObject({ toolCallId: "demo-2" });
  });

  test("counts, thinks, cites and fails on request", async () => {
    expect(textOf(await answerTo("count to 5"))).toBe("Demo model, no AI. 1 2 3 4 5");
    expect((await answerTo("think"))[0]?.kind).toBe("reasoning");
    expect((await answerTo("cite")).map(({ kind }) => kind)).toContain("source");
    await expect(answerTo("fail")).rejects.toMatchObject({ kind: "refused" });
  });
});

async function answerTo(
  text: string,
  ...later: readonly TranscriptEntry[]
): Promise<readonly ModelEvent[]> {
  const request: ModelRequest = {
    transcript: [{ role: "user", parts: [{ kind: "text", text }] }, ...later],
    tools: TOOLS,
  };
  const events: ModelEvent[] = [];
  const model = demoModel({ wordDelayMs: 0 });
  for await (const event of model.stream(request, new AbortController().signal)) events.push(event);
  return events;
}

function textOf(events: readonly ModelEvent[]): string {
  return events.map((event) => (event.kind === "text" ? event.text : "")).join("");
}

function callsOf(events: readonly ModelEvent[]): readonly (readonly [string, unknown])[] {
  return events.flatMap((event) =>
    event.kind === "tool-call"
      ? [[event.toolName, JSON.parse(event.input) as unknown] as const]
      : [],
  );
}
