import {
  type Agent,
  AgentLoop,
  connect,
  defineAgent,
  inputRequired,
  mount,
  serve,
  tool,
} from "convoke";
import { userMessage } from "@convoke/protocol";
import { scriptedModel } from "@convoke/runtime/testing";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { calls } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import { served } from "./a-planner.ts";
import { TracedProcess, named } from "./a-traced-process.ts";

let traced: TracedProcess;
beforeAll(async () => {
  traced = await TracedProcess.start();
});
afterEach(() => expect(traced.open).toEqual([]));
afterAll(() => traced.stop());

/** A tool that never returns, whatever its signal says. */
function aStubbornTool(): {
  readonly began: Promise<void>;
  readonly hang: ReturnType<typeof tool>;
} {
  const began = Promise.withResolvers<void>();
  const hang = tool({
    name: "hang",
    description: "Never ends.",
    run: () => {
      began.resolve();
      return new Promise(() => undefined);
    },
  });
  return { began: began.promise, hang };
}

const WORKER = { name: "Worker", description: "Works." } as const;

/** An agent that never ends, whatever its signal says. */
function aStubbornAgent(): { readonly began: Promise<void>; readonly agent: Agent } {
  const began = Promise.withResolvers<void>();
  const agent = defineAgent({
    ...WORKER,
    run: () => {
      began.resolve();
      return new Promise<string>(() => undefined);
    },
  });
  return { began: began.promise, agent };
}

describe("a span ends", () => {
  verifies("loop-L14", "when its task is canceled, although its tool never returns", async () => {
    const { began, hang } = aStubbornTool();
    const model = scriptedModel([calls("hang")]);
    const agent = await served(defineAgent({ ...WORKER, model, tools: [hang] }));

    const traceId = await traced.asCaller("ask", async (trace) => {
      const { task } = await agent.send("go", { trace, wait: false });
      await began;
      await agent.cancel(task!.id);
      return trace.traceId;
    });
    const spans = await traced.spans(traceId, ["task Worker"]);

    for (const name of ["execute_tool hang", "invoke_agent Worker", "task Worker"]) {
      expect(named(spans, name)).toMatchObject({
        isError: true,
        attributes: { "error.type": "canceled" },
      });
    }
  });

  verifies("loop-L14", "when the server stops, although its agent does not", async () => {
    const { began, agent } = aStubbornAgent();
    const server = await serve(agent, { port: 0, data: "memory", logger: memoryLogger() });
    const remote = await connect(server.url);

    const traceId = await traced.asCaller("ask", async (trace) => {
      await remote.send("go", { trace, wait: false });
      await began;
      remote.close();
      await server.close();
      return trace.traceId;
    });
    const spans = await traced.spans(traceId);

    expect(named(spans, "invoke_agent Worker").attributes["error.type"]).toBe("server_stopping");
  });

  verifies("loop-L14", "when a function ignores that its task is canceled", async () => {
    const { began, agent: stubborn } = aStubbornAgent();
    const agent = await served(stubborn);

    const traceId = await traced.asCaller("ask", async (trace) => {
      const { task } = await agent.send("go", { trace, wait: false });
      await began;
      await agent.cancel(task!.id);
      return trace.traceId;
    });
    const spans = await traced.spans(traceId, ["task Worker"]);

    expect(named(spans, "invoke_agent Worker").attributes["error.type"]).toBe("canceled");
  });

  verifies("loop-L14", "when the client leaves its stream, while the task goes on", async () => {
    const gone = Promise.withResolvers<string>();
    const agent = await served(
      defineAgent({
        ...WORKER,
        async *run() {
          yield "one ";
          yield await gone.promise;
        },
      }),
    );
    const leave = new AbortController();

    const traceId = await traced.asCaller("ask", async (trace) => {
      const run = agent.stream("go", { trace, signal: leave.signal });
      for await (const event of run) if (event.kind === "artifact-update") break;
      leave.abort();
      return trace.traceId;
    });
    await expect.poll(() => traced.open, { timeout: 20_000 }).toEqual(["invoke_agent Worker"]);
    gone.resolve("two");
    const spans = await traced.spans(traceId, ["task Worker"]);

    expect(named(spans, "POST /")).toMatchObject({
      isError: true,
      attributes: { "error.type": "client_disconnected", "a2a.operation": "sendStreamingMessage" },
    });
    expect(named(spans, "invoke_agent Worker").isError).toBe(false);
  });

  verifies("loop-L14", "when the client has left before its stream was opened", async () => {
    const agent = defineAgent({ ...WORKER, run: () => "done" });
    const mounted = await mount(agent, { data: "memory", logger: memoryLogger() });
    onTestFinished(() => mounted.close());
    const traceId = "3".repeat(32);
    const message = userMessage("m", "go");
    const params = { message };

    const response = await mounted.fetch(
      new Request("http://localhost/", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          traceparent: `00-${traceId}-${"4".repeat(16)}-01`,
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/stream", params }),
      }),
    );
    await response.body?.cancel();
    const spans = await traced.spans(traceId, ["task Worker"]);

    expect(named(spans, "POST /").attributes["error.type"]).toBe("client_disconnected");
  });

  verifies("loop-L14", "when the last subscriber of a loop leaves", async () => {
    const { began, hang } = aStubbornTool();
    const loop = new AgentLoop({ model: scriptedModel([calls("hang")]), tools: [hang] });
    onTestFinished(() => loop[Symbol.asyncDispose]());
    const before = traced.receiver.spans.length;

    const subscription = loop.execute("go").subscribe(() => undefined);
    await began;
    subscription.unsubscribe();
    await expect.poll(() => traced.open, { timeout: 20_000 }).toEqual([]);

    await expect
      .poll(() => traced.receiver.spans.slice(before).map(({ name }) => name), { timeout: 20_000 })
      .toEqual(expect.arrayContaining(["chat scripted", "execute_tool hang"]));
  });

  verifies("loop-L14", "when its task waits; the answer starts another one", async () => {
    const ask = tool({
      name: "ask",
      description: "Asks.",
      run: (_, { answers }) => answers.get("input")?.text ?? inputRequired("Which one?"),
    });
    const model = scriptedModel([calls("ask"), "Done."]);
    const agent = await served(defineAgent({ ...WORKER, model, tools: [ask] }));

    const { traceId, taskId } = await traced.asCaller("ask", async (trace) => {
      const { task } = await agent.send("go", { trace });
      return { traceId: trace.traceId, taskId: task!.id };
    });
    const waiting = await traced.spans(traceId);
    const answer = await traced.asCaller("answer", async (trace) => {
      await agent.send("this one", { taskId, trace });
      return trace.traceId;
    });
    const spans = await traced.spans(traceId, ["task Worker"]);
    const answering = await traced.spans(answer);

    expect(named(waiting, "invoke_agent Worker").attributes["a2a.task.state"]).toBe(
      "input-required",
    );
    const stretches = spans.filter(({ name }) => name === "invoke_agent Worker");
    expect(stretches).toHaveLength(2);
    expect(stretches[1]).toMatchObject({
      parentSpanId: stretches[0]!.parentSpanId,
      links: [named(answering, "POST /").spanId],
      attributes: { "a2a.task.state": "completed" },
    });
  });

  verifies("loop-L14", "when the agent fails, and does not contain the error's text", async () => {
    const agent = await served(
      defineAgent({
        ...WORKER,
        run: () => {
          throw new Error("the password is hunter2");
        },
      }),
    );

    const traceId = await traced.asCaller("ask", async (trace) => {
      await agent.send("go", { trace });
      return trace.traceId;
    });
    const spans = await traced.spans(traceId, ["task Worker"]);

    expect(named(spans, "invoke_agent Worker")).toMatchObject({
      isError: true,
      attributes: { "error.type": "failed" },
    });
    expect(traced.receiver.text).not.toContain("hunter2");
  });
});

test("the route of a request outside A2A has no id in it", async () => {
  const { url } = await served(defineAgent({ ...WORKER, run: async () => "done" }));

  const traceId = await traced.asCaller("read", async (trace) => {
    const headers = { traceparent: `00-${trace.traceId}-${trace.spanId}-01` };
    await (await fetch(new URL("/convoke/tasks/some-task/log", url), { headers })).text();
    return trace.traceId;
  });
  const name = "GET /convoke/tasks/{id}/log";
  const spans = await traced.spans(traceId, [name]);

  expect(named(spans, name).attributes["http.route"]).toBe("/convoke/tasks/{id}/log");
});
