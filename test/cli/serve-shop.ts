import { type RemoteAgent, connect } from "@convoke/client";
import type { TaskState } from "@convoke/protocol";
import { createJsonLogger } from "@convoke/engine";
import { serve } from "convoke";
import { onTestFinished } from "vitest";
import { shop } from "./shop-agent.ts";

/** The shop on a server in this process, and a client that reads its tasks. */
export async function serveShop(): Promise<{
  readonly url: string;
  readonly states: () => Promise<readonly TaskState[]>;
}> {
  const logger = createJsonLogger("silent", () => undefined);
  const server = await serve(shop, { port: 0, data: "memory", logger });
  const agent: RemoteAgent = await connect(server.url);
  onTestFinished(async () => {
    agent.close();
    await server.close();
  });
  const states = async () => (await agent.list()).tasks.map(({ status }) => status.state);
  return { url: server.url.replace(/\/$/, ""), states };
}
