import { type StatusUpdateEvent, textOf } from "@convoke/protocol";
import type { ModelAgentDefinition } from "@convoke/runtime";
import { defineAgent } from "@convoke/runtime";
import {
  type ScriptTurn,
  type ScriptedModelServer,
  type ServedRequest,
  scriptedModel,
  startScriptedModelServer,
} from "@convoke/runtime/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { LoopWorld } from "./a-loop-world.ts";
import { calls, echoTool, statusText } from "./scripts.ts";

const ANTHROPIC = "anthropic:claude-sonnet-4-5";
const OPENAI = "openai:gpt-5";

const OVERLOADED: ScriptTurn = { kind: "error", status: 529 };

/** Both providers on loopback: Anthropic always answers the same, OpenAI plays its turns in order. */
async function providers(
  anthropic: ScriptTurn,
  openai: readonly ScriptTurn[] = ["Hello."],
): Promise<ScriptedModelServer> {
  let played = 0;
  const server = await startScriptedModelServer(({ format }) =>
    format === "anthropic" ? anthropic : openai[played++]!,
  );
  onTestFinished(() => server.close());
  return server;
}

function aWorld(
  { environment }: Pick<ScriptedModelServer, "environment">,
  more: Partial<ModelAgentDefinition> = {},
): LoopWorld {
  const definition = {
    model: [ANTHROPIC, OPENAI],
    modelOptions: { environment },
    retry: { attempts: 2, firstWaitMs: 1 },
  };
  return new LoopWorld({ ...definition, ...more });
}

function formats({ requests }: ScriptedModelServer): readonly string[] {
  return requests.map(({ format }: ServedRequest) => format.split("-")[0]!);
}

test("the next model answers when one is overloaded after its retries, and keeps the turn", async () => {
  const server = await providers(OVERLOADED, [calls("echo", { text: "a" }), "Done."]);
  const price = (each: number) => ({ inputPerMillion: each, outputPerMillion: each });
  const world = aWorld(server, {
    model: [
      { model: ANTHROPIC, price: price(1_000) },
      { model: OPENAI, price: price(1_000_000) },
    ],
    tools: [echoTool()],
  });

  const task = await world.ask("go");

  expect(textOf(task)).toBe("Done.");
  expect(formats(server)).toEqual(["anthropic", "anthropic", "openai", "openai"]);
  const last = (await world.events(task.id)).at(-1) as StatusUpdateEvent;
  const { usage, model } = last.metadata as {
    usage: Record<string, number>;
    model: string;
  };
  expect(model).toBe(OPENAI);
  expect(usage["cost"]).toBe(usage["inputTokens"]! + usage["outputTokens"]!);
  const requests = await world.notes(task.id, "internal:llm-call");
  expect(requests.map((note) => note["model"])).toEqual([ANTHROPIC, ANTHROPIC, OPENAI, OPENAI]);
  const results = await world.notes(task.id, "internal:llm-result");
  expect(results.map((note) => note["model"])).toEqual([OPENAI, OPENAI]);
});

describe.each<[string, ScriptTurn]>([
  ["rejects the key", { kind: "error", status: 401 }],
  ["does not know the model", { kind: "error", status: 404 }],
  ["asks to come back in an hour", { kind: "error", status: 429, retryAfterSeconds: 3600 }],
])("a provider that %s", (_, turn) => {
  test("is replaced at once", async () => {
    const server = await providers(turn);

    expect(textOf(await aWorld(server).ask("go"))).toBe("Hello.");
    expect(formats(server)).toEqual(["anthropic", "openai"]);
  });
});

test("a request that the provider refuses is not sent to the next one", async () => {
  const server = await providers({ kind: "error", status: 400 });

  expect((await aWorld(server).ask("go")).status.state).toBe("failed");
  expect(formats(server)).toEqual(["anthropic"]);
});

test("an answer that was already streamed is not continued by the next model", async () => {
  const server = await providers([{ kind: "text", text: "It is " }, { kind: "cut" }]);

  expect((await aWorld(server).ask("go")).status.state).toBe("failed");
  expect(formats(server)).toEqual(["anthropic", "anthropic"]);
});

test("if every model fails, the task fails with the problem of the last", async () => {
  const server = await providers(OVERLOADED, [{ kind: "error", status: 401 }]);

  const task = await aWorld(server).ask("go");

  expect(task.status.state).toBe("failed");
  expect(statusText(task)).toContain(`${OPENAI}: the provider refused the key`);
});

test("a turn that changed its model keeps it after a crash", async () => {
  const broken = () => scriptedModel([OVERLOADED, OVERLOADED], { id: "broken" });
  const price = { inputPerMillion: 1_000_000, outputPerMillion: 0 };
  const works = (turn: ScriptTurn) => scriptedModel([turn], { id: "works", price });
  const world = new LoopWorld({
    model: [broken(), works({ kind: "silence" })],
    retry: { attempts: 2, firstWaitMs: 1 },
  });
  const taskId = await world.tell("go");
  await world.hasEvent(taskId, "internal:llm-call", 3);
  const first = broken();

  await world.restart({ model: [first, works("Hello.")] });
  const task = await world.settled(taskId);

  expect(textOf(task)).toBe("Hello.");
  expect(first.requests).toHaveLength(0);
  const last = (await world.events(taskId)).at(-1) as StatusUpdateEvent;
  expect(last.metadata).toMatchObject({ model: "works", usage: { cost: 10 } });
});

describe("a model without its key", () => {
  const environment = { OPENAI_API_KEY: "key" };

  test("is skipped, with a warning at the start and a note in the log of the task", async () => {
    const server = await providers("never");
    const { ANTHROPIC_API_KEY: _, ...rest } = server.environment;
    const world = aWorld({ environment: rest });
    const logger = memoryLogger();
    world.engine.agents.first.definition.prepare?.({ logger });

    const task = await world.ask("go");

    expect(textOf(task)).toBe("Hello.");
    expect(logger.lines[0]).toContain("a model of the agent cannot be used, and is skipped");
    expect(logger.lines[0]).toContain(`${ANTHROPIC} needs a key; set ANTHROPIC_API_KEY`);
    expect(await world.notes(task.id, "internal:llm-retry")).toMatchObject([{ nextModel: OPENAI }]);
  });

  test("keeps the server from starting only if no other model can be used", () => {
    const agent = (names: readonly string[]) =>
      defineAgent({
        name: "a",
        description: "Has models.",
        model: names,
        modelOptions: { environment },
      });

    expect(() => agent([ANTHROPIC, OPENAI]).prepare?.({})).not.toThrow();
    expect(() => agent([ANTHROPIC, "google:gemini-2.5-pro"]).prepare?.({})).toThrow(
      /ANTHROPIC_API_KEY.*GOOGLE_GENERATIVE_AI_API_KEY/,
    );
  });
});

test("options that fit one model only are rejected for a list", () => {
  const define = (more: object) => () =>
    defineAgent({ name: "a", description: "Has models.", model: [ANTHROPIC, OPENAI], ...more });

  expect(define({ modelOptions: { apiKey: "key" } })).toThrow(
    'modelOptions.apiKey is for one model: in a list, write { model: "<name>", apiKey: … }',
  );
  expect(define({ model: [] })).toThrow("the list is empty");
});
