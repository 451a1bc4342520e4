import { type AgentEvent, type StatusUpdateEvent, textOf, textPart } from "@convoke/protocol";
import {
  AgentLoop,
  type Tool,
  authRequired,
  defineAgent,
  inputRequired,
  tool,
} from "@convoke/runtime";
import { say } from "convoke/testing";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { scriptedModel, startScriptedModelServer } from "@convoke/runtime/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";
import { LoopWorld } from "./a-loop-world.ts";
import { calls, echoTool, eventsOf, resultsTold, statusText } from "./scripts.ts";

/** A model that calls the same tool again and again. */
function stubborn(toolName: string, times = 1000) {
  return scriptedModel(Array.from({ length: times }, () => calls(toolName)));
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

verifies(
  "loop-L1",
  "a model that calls tools forever is stopped by its budget, and the error names it",
  async () => {
    const model = stubborn("echo");
    const world = new LoopWorld({ model, tools: [echoTool()] });

    const task = await world.ask("go");

    expect(model.requests).toHaveLength(50);
    expect(task.status.state).toBe("failed");
    expect(statusText(task)).toContain("iterations is limited to 50");
    const last = (await world.events(task.id)).at(-1) as StatusUpdateEvent;
    expect(last.metadata).toMatchObject({
      reason: "budget",
      budget: "iterations",
      usage: { iterations: 50, toolCalls: 50 },
    });
  },
);

describe("leaving", () => {
  verifies(
    ["loop-L2", "loop-L3"],
    "closes the request to the provider, makes no other, and the next turn works",
    async () => {
      const server = await startScriptedModelServer((request) =>
        request.text === "go"
          ? [{ kind: "text", text: "I think about it" }, { kind: "silence" }]
          : "Here I am.",
      );
      onTestFinished(() => server.close());
      const loop = new AgentLoop({ model: await server.model("openai-compatible") });

      await new Promise<void>((resolve) => {
        const subscription = loop.execute("go", { contextId: "c1" }).subscribe((event) => {
          if (event.kind !== "artifact-update") return;
          queueMicrotask(() => {
            subscription.unsubscribe();
            resolve();
          });
        });
      });
      await server.requests[0]!.closed;
      await pause(100);

      expect(server.requests[0]!.closedEarly).toBe(true);
      expect(server.requests).toHaveLength(1);
      const next = await loop.invokeSync([{ kind: "text", text: "Still there?" }], {
        contextId: "c1",
      });
      expect(next.status.state).toBe("completed");
      expect(textOf(next)).toBe("Here I am.");
    },
  );

  verifies(
    "loop-L2",
    "stops every tool immediately, and the output of one that ignores its signal is dropped",
    async () => {
      const stopped: string[] = [];
      let release = (): void => undefined;
      const late = new Promise<void>((resolve) => (release = resolve));
      const obedient = tool({
        name: "obedient",
        description: "Stops when told.",
        run: (_, { signal, toolCallId }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => {
              stopped.push(toolCallId);
              reject(new Error("stopped"));
            });
          }),
      });
      const deaf = tool({
        name: "deaf",
        description: "Does not listen.",
        async *run() {
          await late;
          yield "too late";
          return "too late";
        },
      });
      const model = scriptedModel([[calls("obedient"), calls("obedient"), calls("deaf")]]);
      const loop = new AgentLoop({ model, tools: [obedient, deaf] });
      const heard: AgentEvent[] = [];
      const starts = (): number =>
        heard.filter(({ kind }) => kind === "internal:tool-start").length;

      const subscription = loop
        .execute("go", { taskId: "t1" })
        .subscribe((event) => heard.push(event));
      await expect.poll(starts, { interval: 2 }).toBe(3);
      await pause(5);
      subscription.unsubscribe();
      const stoppedAtOnce = [...stopped];
      release();
      await pause(50);

      expect(stoppedAtOnce).toEqual(["call_1", "call_2"]);
      expect(heard.filter(({ kind }) => kind === "internal:tool-complete")).toEqual([]);
      expect(model.requests).toHaveLength(1);
    },
  );
});

verifies("loop-L4", "a model error ends its task, and the next turn works", async () => {
  const model = scriptedModel([
    { kind: "error", status: 401, message: "wrong key" },
    "Now it works.",
  ]);
  const loop = new AgentLoop({ model });

  const failed = await loop.invokeSync([{ kind: "text", text: "go" }], { contextId: "c1" });
  const next = await loop.invokeSync([{ kind: "text", text: "again" }], { contextId: "c1" });

  expect(failed.status.state).toBe("failed");
  expect(statusText(failed)).toContain("The model could not answer");
  expect(next.status.state).toBe("completed");
});

describe("an unknown tool", () => {
  verifies(["loop-L5", "R55"], "is a tool error that lists the available tools", async () => {
    const model = scriptedModel([calls("ecko", { text: "a" }), calls("echo", { text: "a" }), "ok"]);
    const world = new LoopWorld({ model, tools: [echoTool()] });

    const task = await world.ask("go");

    expect(task.status.state).toBe("completed");
    expect(resultsTold(model.requests)).toEqual([
      'There is no tool called "ecko"; there are echo.',
      "echo a",
    ]);
    const [first] = await world.notes(task.id, "internal:tool-complete");
    expect(first).toMatchObject({ toolName: "ecko", success: false });
  });

  verifies("loop-L5", "that is called again and again ends the task", async () => {
    const model = stubborn("nothing");
    const world = new LoopWorld({ model, tools: [echoTool()] });

    const task = await world.ask("go");

    expect(model.requests).toHaveLength(5);
    expect(statusText(task)).toContain("consecutiveFailures is limited to 5");
  });
});

verifies(
  "loop-L8",
  "50 calls at once run five at a time, and their results keep the order of the calls",
  async () => {
    let running = 0;
    let most = 0;
    const slow = tool({
      name: "slow",
      description: "Takes a moment.",
      inputSchema: { type: "object", properties: { n: { type: "integer" } } },
      run: async ({ n }) => {
        running += 1;
        most = Math.max(most, running);
        // The later ones are faster, so that they finish in a different order.
        await pause(10 - (Number(n) % 10));
        running -= 1;
        return n;
      },
    });
    const fifty = Array.from({ length: 50 }, (_, n) => calls("slow", { n }));
    const model = scriptedModel([fifty, "done"]);
    const world = new LoopWorld({ model, tools: [slow] });

    const task = await world.ask("go");

    expect(task.status.state).toBe("completed");
    expect(most).toBe(5);
    expect(resultsTold(model.requests)).toEqual(Array.from({ length: 50 }, (_, n) => n));
  },
);

verifies("loop-L11", "ids that a model chooses are never used as a path", async () => {
  const outside = temporaryFolder();
  const data = join(outside, "a", "b", "data");
  const escaping = "../../../../escaped";
  const saving = tool({
    name: "save",
    description: "Makes a file.",
    async *run(_input, { taskId, contextId, toolCallId }) {
      const artifact = { artifactId: toolCallId, name: escaping, parts: [textPart("x")] };
      const event = { kind: "artifact-update", taskId, contextId, artifact } as const;
      yield { kind: "tool:event", event };
      yield "saved";
    },
  });
  const model = scriptedModel([calls("save", {}, escaping), "Done."]);
  const loop = new AgentLoop({ model, tools: [saving], data });
  const events = await eventsOf(loop.execute("go", { taskId: escaping }));
  await loop.close();

  expect(JSON.stringify(events)).toContain(`"artifactId":"${escaping}"`);
  const files = readdirSync(outside, { recursive: true, withFileTypes: true });
  const written = files.filter((entry) => entry.isFile()).map(({ parentPath }) => parentPath);
  expect(written).not.toEqual([]);
  expect(written.filter((folder) => !folder.startsWith(data))).toEqual([]);
});

describe("every kind of question that a loop asks", () => {
  const asking = (name: string, request: unknown): Tool =>
    tool({ name, description: "Asks.", run: () => request });
  const guarded = tool({ name: "rm", description: "Removes.", confirm: "ask", run: () => "gone" });

  const REQUESTS = {
    "a question": [asking("ask", inputRequired("Which town?")), "input-required", "Which town?"],
    "a sign-in": [asking("go", authRequired("Sign in.")), "auth-required", "Sign in."],
    "an approval": [guarded, "input-required", "Approve: "],
  } as const;
  for (const [name, [asks, state, text]] of Object.entries(REQUESTS)) {
    const title = `${name} is in an official state, and its question is the text that is shown`;
    verifies("loop-L13", title, async () => {
      const before = { kind: "text", text: "Let me see. " } as const;
      const model = scriptedModel([[before, calls(asks.name)], "Done."]);
      const agent = defineAgent({ name: "A", description: "B", model, tools: [asks] });

      const asked = await say(agent, "go");

      expect(asked.task?.status.state).toBe(state);
      expect(asked.text).toContain(text);
      expect(asked.text).not.toContain("Let me see.");
    });
  }
});

describe("definitions", () => {
  const facts = { name: "A", description: "B", model: "demo" } as const;

  verifies("loop-L17", "with two tools of the same name are rejected immediately", () => {
    expect(() => defineAgent({ ...facts, tools: [echoTool(), echoTool()] })).toThrow(
      'two tools are called "echo"',
    );
  });

  test("with both a function and a model, or neither, are rejected", () => {
    const both = { ...facts, run: () => "x" } as never;
    expect(() => defineAgent(both)).toThrow("either a run function or a model");
    expect(() => defineAgent({ name: "A", description: "B" } as never)).toThrow("a model");
  });

  test.each<[object, string]>([
    [{ budget: { iterations: 0 } }, "budget.iterations must be a number above 0, not 0"],
    [{ budget: { dollars: 1 } }, "budget.dollars is unknown; there are iterations"],
    [{ maxParallelTools: 0.5 }, "maxParallelTools must be a whole number above 0, not 0.5"],
    [{ tools: [{ name: "x" }] }, "tools holds what tool({ name, description, run }) makes"],
  ])("with %j are rejected: %s", (overrides, problem) => {
    expect(() => defineAgent({ ...facts, ...overrides })).toThrow(problem);
  });
});

test("an Observable without a subscriber does nothing", async () => {
  const model = scriptedModel(["x"]);
  new AgentLoop({ model }).execute("go");
  await pause(20);

  expect(model.requests).toEqual([]);
  expect(await eventsOf(new AgentLoop({ model }).execute("go"))).not.toEqual([]);
});
