import { type TracingOptions, defineAgent, inputRequired, tool } from "convoke";
import { startScriptedModelServer } from "@convoke/runtime/testing";
import { afterEach, beforeEach, expect, onTestFinished } from "vitest";
import { calls } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import { served } from "./a-planner.ts";
import { TracedProcess } from "./a-traced-process.ts";
import type { ReceivedSpan } from "./otlp-receiver.ts";

let traced: TracedProcess;
beforeEach(async () => {
  traced = await TracedProcess.start();
});
afterEach(() => traced.stop());

const IN_MESSAGE = "the-colour-is-mauve";
const IN_RESULT = "the-tool-says-teal";
const PASSWORD = "hunter2-hunter2";
const TOKEN = "token-of-the-caller";

/** A task with content of every kind, and a password that its tool repeats. */
async function workOn(tracing: TracingOptions): Promise<readonly ReceivedSpan[]> {
  const login = tool({
    name: "login",
    description: "Logs in.",
    run: (_, { answers }) => {
      const password = answers.get("password")?.text;
      if (password === undefined) {
        return inputRequired("Password?", { requestId: "password", sensitive: true });
      }
      return `${IN_RESULT} ${password}`;
    },
  });
  const models = await startScriptedModelServer([
    calls("login", { user: "lovelace" }),
    "Logged in.",
  ]);
  onTestFinished(() => models.close());
  const { environment, specs } = models;
  const agent = await served(
    defineAgent({
      name: "Keeper",
      description: "Keeps secrets.",
      instructions: "Be brief.",
      model: specs.anthropic,
      modelOptions: { environment },
      tools: [login],
    }),
    { tracing, token: TOKEN },
  );
  const traceId = await traced.asCaller("ask", async (trace) => {
    const { task } = await agent.send(`Log in; ${IN_MESSAGE}.`, { trace });
    await agent.send(PASSWORD, { taskId: task!.id, trace });
    return trace.traceId;
  });
  return traced.spans(traceId, ["task Keeper"]);
}

verifies(
  "loop-L14",
  "by default, spans contain neither messages, nor arguments and results of tools, nor secrets",
  async () => {
    await workOn({});

    for (const text of [IN_MESSAGE, IN_RESULT, "lovelace", "Be brief", "Logged in"]) {
      expect(traced.receiver.text).not.toContain(text);
    }
    for (const secret of [PASSWORD, TOKEN, "scripted-key"]) {
      expect(traced.receiver.text).not.toContain(secret);
    }
  },
);

verifies("loop-L14", "with content, spans still contain no secrets", async () => {
  const spans = await workOn({ content: true });

  const chats = spans.filter(({ name }) => name.startsWith("chat "));
  const attribute = (span: ReceivedSpan | undefined, name: string): unknown =>
    JSON.parse(String(span?.attributes[name]));
  expect(attribute(chats[0], "gen_ai.system_instructions")).toEqual([
    { type: "text", content: "Be brief." },
  ]);
  expect(attribute(chats[0], "gen_ai.input.messages")).toEqual([
    { role: "user", parts: [{ type: "text", content: `Log in; ${IN_MESSAGE}.` }] },
  ]);
  expect(attribute(chats[1], "gen_ai.output.messages")).toEqual([
    {
      role: "assistant",
      parts: [{ type: "text", content: "Logged in." }],
      finish_reason: "stop",
    },
  ]);
  const rounds = spans.filter(({ name }) => name === "execute_tool login");
  expect(attribute(rounds[0], "gen_ai.tool.call.arguments")).toEqual({ user: "lovelace" });
  expect(attribute(rounds[1], "gen_ai.tool.call.result")).toBe(`${IN_RESULT} [hidden]`);
  for (const secret of [PASSWORD, TOKEN, "scripted-key"]) {
    expect(traced.receiver.text).not.toContain(secret);
  }
});
