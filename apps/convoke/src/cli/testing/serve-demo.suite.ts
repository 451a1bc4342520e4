import { type RemoteAgent, connect } from "@convoke/client";
import { createJsonLogger } from "@convoke/engine";
import { onTestFinished } from "vitest";
import { demoAgent } from "../../host/load-agent.ts";
import { type ServeAgentOptions, serve } from "../../host/serve-agent.ts";

/** The demo agent on a real server that keeps its tasks in memory, and a client for it. */
export async function serveDemo(
  options: ServeAgentOptions = {},
): Promise<{ readonly url: string; readonly agent: RemoteAgent }> {
  const logger = createJsonLogger("silent", () => undefined);
  const server = await serve(demoAgent, { port: 0, data: "memory", logger, ...options });
  onTestFinished(() => server.close());
  const agent = await connect(server.url, { token: options.token });
  return { url: server.url.replace(/\/$/, ""), agent };
}

/** Starts a task without waiting for it. */
export async function beginTask(agent: RemoteAgent, text: string): Promise<string> {
  for await (const event of agent.stream(text)) if (event.kind === "task") return event.id;
  throw new Error("The agent began no task.");
}
