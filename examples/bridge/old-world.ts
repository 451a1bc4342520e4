import { randomUUID } from "node:crypto";
import type { Message, Task, TaskState } from "a2a-sdk-v03";
import { ClientFactory } from "a2a-sdk-v03/client";
import { type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore } from "a2a-sdk-v03/server";
import { UserBuilder, agentCardHandler, jsonRpcHandler } from "a2a-sdk-v03/server/express";
import express from "express";
import { listen } from "./listen.ts";

/** Asks for a year, and then says what the archive has. */
const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const text = userMessage.parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
    const year = /\d{4}/.exec(text)?.[0];
    const say = (state: TaskState, words?: string): void => {
      const parts = [{ kind: "text", text: words ?? "" } as const];
      const ids = { taskId, contextId };
      const message = { kind: "message", role: "agent", messageId: randomUUID(), parts } as const;
      const status = { state, ...(words !== undefined && { message: { ...message, ...ids } }) };
      bus.publish({ kind: "status-update", ...ids, status, final: state !== "working" });
    };
    if (task === undefined) {
      const status = { state: "submitted" } as const;
      bus.publish({ kind: "task", id: taskId, contextId, status, history: [userMessage] });
    }
    if (year === undefined) {
      say("input-required", "Which year?");
    } else {
      const parts = [{ kind: "text", text: `In ${year} the winter was cold.` } as const];
      const artifact = { artifactId: "page", name: "page", parts };
      bus.publish({ kind: "artifact-update", taskId, contextId, artifact, lastChunk: true });
      say("completed");
    }
    bus.finished();
  },
  cancelTask: async () => undefined,
};

/** An agent that was written for A2A 0.3, with the official SDK 0.3.14. */
export async function startOldAgent() {
  const app = express();
  const server = await listen(app);
  const requestHandler = new DefaultRequestHandler(
    {
      name: "Archive",
      description: "Knows the winters of the past.",
      version: "1.0.0",
      protocolVersion: "0.3.0",
      url: `${server.url}rpc`,
      preferredTransport: "JSONRPC",
      capabilities: { streaming: true },
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["text/plain"],
      skills: [],
    },
    new InMemoryTaskStore(),
    executor,
  );
  const userBuilder = UserBuilder.noAuthentication;
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
  app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder }));
  return server;
}

/** A program that was written for A2A 0.3: it sends a text, and resolves to that of the answer. */
export async function askWithOldClient(url: string, text: string): Promise<string> {
  const client = await new ClientFactory().createFromUrl(url);
  const parts = [{ kind: "text", text } as const];
  const message = { kind: "message", role: "user", messageId: randomUUID(), parts } as const;
  const answer: Task | Message = await client.sendMessage({ message });
  if (answer.kind === "message") return "";
  const { status, artifacts = [] } = answer;
  const shown = [...artifacts.flatMap((one) => one.parts), ...(status.message?.parts ?? [])];
  return shown.map((part) => (part.kind === "text" ? part.text : "")).join("");
}
