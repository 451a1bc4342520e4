import { randomUUID } from "node:crypto";
import { type Part, SendMessageRequest, TaskState } from "a2a-sdk-v1";
import { ClientFactory } from "a2a-sdk-v1/client";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryTaskStore,
} from "a2a-sdk-v1/server";
import { UserBuilder, agentCardHandler, jsonRpcHandler } from "a2a-sdk-v1/server/express";
import express from "express";
import { listen } from "./listen.ts";

/** Says how the next winter will be. */
const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const none = { metadata: undefined };
    const status = (state: TaskState) => ({ state, message: undefined, timestamp: undefined });
    const submitted = status(TaskState.TASK_STATE_SUBMITTED);
    const facts = { artifacts: [], history: [userMessage], ...none };
    bus.publish(AgentEvent.task(task ?? { id: taskId, contextId, status: submitted, ...facts }));
    const text: Part["content"] = { $case: "text", value: "The next winter will be mild." };
    const part = { content: text, filename: "", mediaType: "text/plain", ...none };
    const names = { artifactId: "forecast", name: "forecast", description: "", extensions: [] };
    const artifact = { ...names, parts: [part], ...none };
    const chunk = { taskId, contextId, artifact, append: false, lastChunk: true, ...none };
    bus.publish(AgentEvent.artifactUpdate(chunk));
    const completed = status(TaskState.TASK_STATE_COMPLETED);
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: completed, ...none }));
    bus.finished();
  },
  cancelTask: async () => undefined,
};

/** An agent that was written for A2A 1.0, with the official SDK 1.3.0. */
export async function startNewAgent() {
  const app = express();
  const server = await listen(app);
  const protocol = { protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "" };
  const requestHandler = new DefaultRequestHandler(
    {
      name: "Forecast",
      description: "Knows the winters of the future.",
      version: "1.0.0",
      supportedInterfaces: [{ url: `${server.url}rpc`, ...protocol }],
      provider: undefined,
      capabilities: { streaming: true, pushNotifications: false, extensions: [] },
      securitySchemes: {},
      securityRequirements: [],
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["text/plain"],
      skills: [],
      signatures: [],
    },
    new InMemoryTaskStore(),
    executor,
  );
  const userBuilder = UserBuilder.noAuthentication;
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
  app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder }));
  return server;
}

/** A program that was written for A2A 1.0: it sends texts to one task, and resolves to the text of each answer. */
export async function askWithNewClient(url: string, ...texts: readonly string[]) {
  const client = await new ClientFactory().createFromUrl(url);
  const said: string[] = [];
  let taskId = "";
  for (const text of texts) {
    const message = { messageId: randomUUID(), role: "ROLE_USER", taskId, parts: [{ text }] };
    const answer = await client.sendMessage(SendMessageRequest.fromJSON({ message }));
    if (!("status" in answer)) break;
    const { id, status, artifacts } = answer;
    taskId = id;
    said.push(
      [...artifacts.flatMap(({ parts }) => parts), ...(status?.message?.parts ?? [])]
        .map(({ content }) => (content?.$case === "text" ? content.value : ""))
        .join(""),
    );
  }
  return said;
}
