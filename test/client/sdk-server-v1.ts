import { Server as GrpcServer } from "@grpc/grpc-js";
import { type AgentCard, TaskState } from "a2a-sdk-v1";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from "a2a-sdk-v1/server";
import {
  UserBuilder,
  agentCardHandler,
  jsonRpcHandler,
  restHandler,
} from "a2a-sdk-v1/server/express";
import { A2AService, grpcService } from "a2a-sdk-v1/server/grpc";
import express from "express";
import { type SdkServer, closeBoth, listenGrpc, listenHttp } from "./sdk-server.ts";

/** Returns the parts that it receives, or fails as instructed. */
const echo: AgentExecutor = {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const ids = { taskId, contextId };
    const status = (state: TaskState) =>
      bus.publish(
        AgentEvent.statusUpdate({
          ...ids,
          status: { state, message: undefined, timestamp: new Date().toISOString() },
          metadata: undefined,
        }),
      );
    const submitted = {
      state: TaskState.TASK_STATE_SUBMITTED,
      message: undefined,
      timestamp: new Date().toISOString(),
    };
    const facts = { artifacts: [], history: [userMessage], metadata: undefined };
    bus.publish(AgentEvent.task(task ?? { id: taskId, contextId, status: submitted, ...facts }));
    status(TaskState.TASK_STATE_WORKING);
    const [content] = userMessage.parts.map((part) => part.content);
    if (content?.$case === "text" && content.value === "ask") {
      status(TaskState.TASK_STATE_INPUT_REQUIRED);
      return bus.finished();
    }
    bus.publish(
      AgentEvent.artifactUpdate({
        ...ids,
        artifact: {
          artifactId: "echo",
          name: "echo",
          description: "",
          parts: userMessage.parts,
          metadata: undefined,
          extensions: [],
        },
        append: false,
        lastChunk: true,
        metadata: undefined,
      }),
    );
    status(TaskState.TASK_STATE_COMPLETED);
    bus.finished();
  },
  async cancelTask(taskId, bus) {
    bus.publish(
      AgentEvent.statusUpdate({
        taskId,
        contextId: "",
        status: {
          state: TaskState.TASK_STATE_CANCELED,
          message: undefined,
          timestamp: new Date().toISOString(),
        },
        metadata: undefined,
      }),
    );
    bus.finished();
  },
};

/** `@a2a-js/sdk` 1.3.0, set up as documented. */
export async function startSdkV1(executor = echo): Promise<SdkServer> {
  const app = express();
  const { server: http, port } = await listenHttp(app);
  const grpc = new GrpcServer();
  const grpcPort = await listenGrpc(grpc);
  const url = `http://127.0.0.1:${port}`;
  const at = (protocolBinding: string, address: string) => ({
    url: address,
    protocolBinding,
    tenant: "",
    protocolVersion: "1.0",
  });
  const card: AgentCard = {
    name: "Echo of the SDK",
    description: "Hands back what it gets.",
    version: "1.0.0",
    supportedInterfaces: [
      at("JSONRPC", `${url}/rpc`),
      at("HTTP+JSON", `${url}/rest`),
      at("GRPC", `127.0.0.1:${grpcPort}`),
    ],
    provider: undefined,
    capabilities: { streaming: true, pushNotifications: true, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ["*/*"],
    defaultOutputModes: ["*/*"],
    skills: [],
    signatures: [],
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
