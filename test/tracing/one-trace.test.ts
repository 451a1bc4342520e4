import { type AgentServer, type Tool, connect, defineAgent, serve, tool } from "convoke";
import { parseTraceHeaders } from "@convoke/protocol";
import { type ScriptedTurn, scriptedModel } from "@convoke/runtime/testing";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { calls } from "../loop/scripts.ts";
import { Webhook } from "../push/a-webhook.ts";
import { verifies } from "../verifies.ts";
import { aPlanner, served } from "./a-planner.ts";
import { TracedProcess, named, tree } from "./a-traced-process.ts";
import type { ReceivedSpan } from "./otlp-receiver.ts";

let traced: TracedProcess;
beforeAll(async () => {
  traced = await TracedProcess.start();
});
afterAll(() => traced.stop());

/** For `scripts/trace-picture.ts`, which draws them for the guide. */
async function saveForPicture(spans: readonly ReceivedSpan[]): Promise<void> {
  const file = process.env["CONVOKE_TRACE_FILE"];
  if (file !== undefined) await writeFile(file, JSON.stringify(spans));
}

verifies(
  ["R123", "R124"],
  "one trace has the client, the request, the task, its turn, model calls, tools and a sub-agent's server",
  async () => {
    const planner = await aPlanner();

    const { traceId, task } = await traced.asCaller("ask the planner", async (trace) => {
      const answer = await planner.send("Plan three days in Lyon.", { trace });
      return { traceId: trace.traceId, task: answer.task };
    });
    const spans = await traced.spans(traceId, ["task Planner", "task Writer"]);
    await saveForPicture(spans);

    expect(tree(spans)).toBe(
      `
ask the planner
  POST /
    invoke_agent Planner
      chat gpt-5
      execute_tool weather
        GET
      chat gpt-5
      execute_tool writer
        invoke_agent Writer
          POST /
            invoke_agent Writer
              chat claude-sonnet-4-5
            task Writer
      chat gpt-5
    task Planner
`.trimStart(),
    );
    expect(spans.every(({ isError }) => !isError)).toBe(true);
    const caller = named(spans, "ask the planner");
    expect(spans.find(({ parentSpanId }) => parentSpanId === caller.spanId)).toMatchObject({
      kind: "server",
      attributes: {
        "http.request.method": "POST",
        "http.route": "/",
        "http.response.status_code": 200,
        "url.scheme": "http",
        "server.address": "127.0.0.1",
        "a2a.binding": "jsonrpc",
        "a2a.operation": "sendMessage",
      },
    });
    expect(named(spans, "invoke_agent Planner")).toMatchObject({
      kind: "internal",
      attributes: {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "Planner",
        "gen_ai.conversation.id": task?.contextId,
        "a2a.task.id": task?.id,
        "a2a.task.state": "completed",
      },
    });
    expect(named(spans, "chat claude-sonnet-4-5")).toMatchObject({
      kind: "client",
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-sonnet-4-5",
        "gen_ai.usage.input_tokens": expect.any(Number) as number,
        "gen_ai.usage.output_tokens": expect.any(Number) as number,
        "gen_ai.response.finish_reasons": ["stop"],
      },
    });
    expect(named(spans, "execute_tool weather")).toMatchObject({
      kind: "internal",
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.call.id": expect.any(String) as string,
      },
    });
    const { attributes: written } = named(spans, "task Writer");
    const { spanId } = named(spans, "execute_tool writer");
    expect(spans.find(({ parentSpanId }) => parentSpanId === spanId)).toMatchObject({
      kind: "client",
      attributes: { "gen_ai.agent.name": "Writer", "a2a.task.id": written["a2a.task.id"] },
    });
  },
);

verifies(["R123", "R124"], "a sub-agent of the same process is in the trace", async () => {
  const writer = defineAgent({ name: "Writer", description: "Writes.", run: () => "written" });
  const model = scriptedModel([calls("writer", { message: "Write." }), "Done."]);
  const boss = defineAgent({
    name: "Boss",
    description: "Delegates.",
    model,
    subAgents: { writer },
  });
  const agent = await served(boss);

  const traceId = await traced.asCaller("ask", async (trace) => {
    await agent.send("go", { trace });
    return trace.traceId;
  });
  const spans = await traced.spans(traceId, ["task Boss", "task Writer"]);

  expect(tree(spans)).toBe(
    `
ask
  POST /
    invoke_agent Boss
      chat scripted
      execute_tool writer
        invoke_agent Writer
          invoke_agent Writer
          task Writer
      chat scripted
    task Boss
`.trimStart(),
  );
});

verifies("R123", "status updates and artifacts are events of the turn's span", async () => {
  const agent = await served(
    defineAgent({
      name: "Talker",
      description: "Says a few things.",
      async *run({ status }) {
        yield status("thinking");
        yield "one ";
        yield "two ";
        yield "three";
      },
    }),
  );

  const traceId = await traced.asCaller("ask", async (trace) => {
    await agent.send("go", { trace });
    return trace.traceId;
  });
  const { events } = named(await traced.spans(traceId), "invoke_agent Talker");

  expect(events.map(({ name, attributes }) => [name, attributes["a2a.task.state"]])).toEqual([
    ["a2a.status", "working"],
    ["a2a.status", "working"],
    ["a2a.artifact", undefined],
    ["a2a.status", "completed"],
  ]);
});

test("chunks of artifacts are events as well, if the option says so", async () => {
  const agent = await served(
    defineAgent({
      name: "Talker",
      description: "Says a few things.",
      async *run() {
        yield "one ";
        yield "two";
      },
    }),
    { tracing: { chunks: true } },
  );

  const traceId = await traced.asCaller("ask", async (trace) => {
    await agent.send("go", { trace });
    return trace.traceId;
  });
  const { events } = named(await traced.spans(traceId), "invoke_agent Talker");

  const appended = events.filter(({ attributes }) => attributes["a2a.artifact.append"] === true);
  expect(appended.length).toBeGreaterThan(0);
});

verifies(
  ["R123", "v03-S19"],
  "a push delivery is a span, and its request carries the trace",
  async () => {
    const webhook = await Webhook.start();
    const agent = await served(
      defineAgent({ name: "Pusher", description: "Ends at once.", run: () => "done" }),
      { push: { allow: ["127.0.0.1"] } },
    );

    const traceId = await traced.asCaller("ask", async (trace) => {
      await agent.send("go", { trace, pushConfig: { url: `${webhook.url}?key=hook-secret` } });
      return trace.traceId;
    });
    const spans = await traced.spans(traceId, ["push artifact-update", "task Pusher"]);

    const push = named(spans, "push artifact-update");
    expect(push).toMatchObject({ kind: "client", parentSpanId: named(spans, "POST /").spanId });
    const sent = webhook.arrivals.map(({ headers }) =>
      parseTraceHeaders(String(headers["traceparent"])),
    );
    expect(sent).toContainEqual({ traceId, spanId: push.spanId });
    expect(traced.receiver.text).not.toContain("hook-secret");
  },
);

verifies(
  ["R121", "R123"],
  "an unsampled trace has no spans, and tools receive it as unsampled",
  async () => {
    const flags: string[] = [];
    const look = tool({
      name: "look",
      description: "Looks.",
      run: (_, { trace }) => {
        flags.push(trace.traceparent.slice(-2));
        return "seen";
      },
    });
    const agent = await served(
      defineAgent({
        name: "Looker",
        description: "Looks.",
        model: scriptedModel([calls("look"), "Done."]),
        tools: [look],
      }),
    );
    const trace = { traceId: "1".repeat(32), spanId: "2".repeat(16), flags: "00" };

    const { task } = await agent.send("go", { trace });

    expect(task?.status.state).toBe("completed");
    expect(flags).toEqual(["00"]);
    expect(await traced.spans(trace.traceId)).toEqual([]);
  },
);

verifies(
  ["R121", "R123"],
  "after a restart, the next attempt is in the same trace, below the same request",
  async () => {
    const data = await mkdtemp(join(tmpdir(), "convoke-tracing-"));
    onTestFinished(() => rm(data, { recursive: true }));
    const began = Promise.withResolvers<void>();
    const start = (look: Tool, script: readonly ScriptedTurn[]): Promise<AgentServer> =>
      serve(
        defineAgent({
          name: "Looker",
          description: "Looks.",
          model: scriptedModel(script),
          tools: [look],
        }),
        { port: 0, data, logger: memoryLogger() },
      );
    const description = "Looks.";
    const hangs = tool({
      name: "look",
      description,
      idempotent: true,
      run: () => {
        began.resolve();
        return new Promise(() => undefined);
      },
    });
    const sees = tool({ name: "look", description, idempotent: true, run: () => "seen" });

    const first = await start(hangs, [calls("look")]);
    const agent = await connect(first.url);
    const traceId = await traced.asCaller("ask", async (trace) => {
      await agent.send("go", { trace, wait: false });
      await began.promise;
      return trace.traceId;
    });
    agent.close();
    await first.close();
    const stopped = await traced.spans(traceId);
    const second = await start(sees, ["Done."]);
    onTestFinished(() => second.close());
    const spans = await traced.spans(traceId, ["task Looker"]);

    expect(named(stopped, "execute_tool look").attributes["error.type"]).toBe("server_stopping");
    const [before, after] = spans.filter(({ name }) => name === "invoke_agent Looker");
    expect(before?.attributes).toMatchObject({
      "a2a.attempt": 1,
      "error.type": "server_stopping",
    });
    expect(after?.attributes).toMatchObject({ "a2a.attempt": 2, "a2a.task.state": "completed" });
    expect(after?.parentSpanId).toBe(before?.parentSpanId);
  },
);
