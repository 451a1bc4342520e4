import {
  type Agent,
  type RemoteAgent,
  type ServeAgentOptions,
  connect,
  defineAgent,
  serve,
  tool,
} from "convoke";
import { trace } from "@opentelemetry/api";
import { startScriptedModelServer } from "@convoke/runtime/testing";
import { onTestFinished } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { calls } from "../loop/scripts.ts";

/** Serves an agent until the test ends, and connects to it. */
export async function served(agent: Agent, options: ServeAgentOptions = {}): Promise<RemoteAgent> {
  const { token } = options;
  const server = await serve(agent, {
    port: 0,
    data: "memory",
    logger: memoryLogger(),
    ...options,
  });
  onTestFinished(() => server.close());
  const remote = await connect(server.url, token === undefined ? {} : { token });
  onTestFinished(() => remote.close());
  return remote;
}

/**
 * An agent with a model of OpenAI, a tool, and a sub-agent on another server with a model of
 * Anthropic. Both models are scripted, and speak the real formats of their providers.
 */
export async function aPlanner(): Promise<RemoteAgent> {
  const script = [calls("weather", { city: "Lyon" }), calls("writer", { message: "Write it." })];
  const models = await startScriptedModelServer(({ body }) =>
    String(body["model"]).startsWith("claude")
      ? "Three days in Lyon."
      : (script.shift() ?? "Here is your plan."),
  );
  onTestFinished(() => models.close());
  const { specs, environment } = models;
  const writer = await served(
    defineAgent({
      name: "Writer",
      description: "Writes plans down.",
      model: specs.anthropic,
      modelOptions: { environment },
    }),
  );
  const weather = tool({
    name: "weather",
    description: "Says how the weather will be.",
    // As instrumentation of an HTTP client does, which knows only the active span.
    run: () => {
      trace.getTracer("weather-service").startSpan("GET").end();
      return "sunny";
    },
  });
  return served(
    defineAgent({
      name: "Planner",
      description: "Plans journeys.",
      model: specs.openai,
      modelOptions: { environment },
      tools: [weather],
      subAgents: { writer: writer.url },
    }),
  );
}
