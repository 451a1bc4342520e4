import { Server as GrpcServer } from "@grpc/grpc-js";
import type { AgentCard, TaskStatusUpdateEvent } from "a2a-sdk-v03";
import {
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from "a2a-sdk-v03/server";
import {
  UserBuilder,
  agentCardHandler,
  jsonRpcHandler,
  restHandler,
} from "a2a-sdk-v03/server/express";
import { A2AService, grpcService } from "a2a-sdk-v03/server/grpc";
import express from "express";
import { type SdkServer, closeBoth, listenGrpc, listenHttp } from "./sdk-server.ts";

/** Returns the parts that it receives, or waits for more if told to ask. */
const echo: AgentExecutor = {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const ids = { taskId, contextId };
    const status = (state: TaskStatusUpdateEvent["status"]["state"], final: boolean) =>
      bus.publish({
        kind: "status-update",
        ...ids,
        status: { state, timestamp: new Date().toISOString() },
        final,
      });
    if (task === undefined) {
      const submitted = { state: "submitted", timestamp: new Date().toISOString() } as const;
      bus.publish({
        kind: "task",
        id: taskId,
        contextId,
        status: submitted,
        history: [userMessage],
      });
    }
    status("working", false);
    const [part] = userMessage.parts;
    if (part?.kind === "text" && part.text === "ask") {
      status("input-required", true);
      return bus.finished();
    }
    bus.publish({
      kind: "artifact-update",
      ...ids,
      artifact: { artifactId: "echo", name: "echo", parts: userMessage.parts },
      append: false,
      lastChunk: true,
    });
    status("completed", true);
    bus.finished();
  },
  async cancelTask(taskId, bus) {
    bus.publish({
      kind: "status-update",
      taskId,
      contextId: "",
      status: { state: "canceled", timestamp: new Date().toISOString() },
      final: true,
    });
    bus.finished();
  },
};

/** `@a2a-js/sdk` 0.3.14, set up as documented. */
export async function startSdkV03(executor = echo): Promise<SdkServer> {
  const app = express();
  const { server: http, port } = await listenHttp(app);
  const grpc = new GrpcServer();
  const grpcPort = await listenGrpc(grpc);
  const url = `http://127.0.0.1:${port}`;
  const card: AgentCard = {
    name: "Echo of the SDK",
    description: "Hands back what it gets.",
    version: "1.0.0",
    protocolVersion: "0.3.0",
    url: `${url}/rpc`,
    preferredTransport: "JSONRPC",
    additionalInterfaces: [
      { url: `${url}/rpc`, transport: "JSONRPC" },
      { url: `${url}/rest`, transport: "HTTP+JSON" },
      { url: `127.0.0.1:${grpcPort}`, transport: "GRPC" },
    ],
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [],
  };
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    executor,
    undefined,
    new InMemoryPushNotificationStore(),
  );
  const userBuilder = UserBuilder.noAuthentication;
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
  app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder }));
  app.use("/rest", restHandler({ requestHandler, userBuilder }));
  grpc.addService(A2AService, grpcService({ requestHandler, userBuilder }));
  return { url, allow: [`127.0.0.1:${grpcPort}`], close: () => closeBoth(http, grpc) };
}
