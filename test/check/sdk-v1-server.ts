import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Server as GrpcServer, ServerCredentials } from "@grpc/grpc-js";
import { AgentCard, type Message, type Part, Role, TaskState } from "a2a-sdk-v1";
import { LegacyA2AService, legacyGrpcService } from "a2a-sdk-v1/compat/v0_3/server/grpc";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
} from "a2a-sdk-v1/server";
import {
  UserBuilder,
  agentCardHandler,
  jsonRpcHandler,
  restHandler,
} from "a2a-sdk-v1/server/express";
import { A2AService, UserBuilder as GrpcUserBuilder, grpcService } from "a2a-sdk-v1/server/grpc";
import express from "express";
import { type PeerServer, listenOn } from "./peer-server.ts";

const CHUNKS = 12;
const PACE_MS = 50;

/**
 * `@a2a-js/sdk` 1.3.0 as its own examples set it up, with every binding, its 0.3 layer, and all its
 * checks enabled.
 */
export async function startSdkV1(): Promise<PeerServer> {
  const grpc = new GrpcServer();
  const grpcPort = await new Promise<number>((resolve, reject) => {
    grpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
  const app = express();
  const { url, close } = await listenOn(app);
  const card = cardAt(url, grpcPort);
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    executor,
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    { validateInputModes: true },
  );
  const legacyCompat = { enabled: true };
  const userBuilder = UserBuilder.noAuthentication;
  app.use(
    "/.well-known/agent-card.json",
    agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }),
  );
  app.use("/rest", restHandler({ requestHandler, userBuilder, legacyCompat }));
  app.use("/", jsonRpcHandler({ requestHandler, userBuilder, legacyCompat }));
  const grpcOptions = { requestHandler, userBuilder: GrpcUserBuilder.noAuthentication };
  grpc.addService(A2AService, grpcService(grpcOptions));
  grpc.addService(LegacyA2AService, legacyGrpcService(grpcOptions));
  return {
    url,
    grpcOrigin: `http://127.0.0.1:${grpcPort}`,
    close: async () => {
      grpc.forceShutdown();
      await close();
    },
  };
}

function cardAt(url: string, grpcPort: number): AgentCard {
  const rest = `${url}rest`;
  const grpc = `127.0.0.1:${grpcPort}`;
  return AgentCard.fromJSON({
    name: "SDK 1.3.0",
    description: "Hands back what it gets.",
    version: "1.0.0",
    supportedInterfaces: ["1.0", "0.3"].flatMap((protocolVersion) => [
      { url, protocolBinding: "JSONRPC", protocolVersion },
      { url: rest, protocolBinding: "HTTP+JSON", protocolVersion },
      { url: grpc, protocolBinding: "GRPC", protocolVersion },
    ]),
    capabilities: { streaming: true, pushNotifications: true },
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "bearer" } } },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "echo", name: "echo", description: "Hands back.", tags: ["echo"] }],
  });
}

const canceled = new Set<string>();
/** The contexts of the tasks that wait for an answer. */
const asking = new Map<string, string>();

const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const ids = { taskId, contextId };
    const text = textOf(userMessage);
    const timestamp = new Date().toISOString();
    const submitted = { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp };
    const created = { artifacts: [], history: [userMessage], metadata: undefined };
    // Every turn must start with the task.
    bus.publish(AgentEvent.task(task ?? { id: taskId, contextId, status: submitted, ...created }));
    tell(bus, ids, TaskState.TASK_STATE_WORKING);
    if (text === "ask") {
      asking.set(taskId, contextId);
      tell(bus, ids, TaskState.TASK_STATE_INPUT_REQUIRED, question(ids));
      return bus.finished();
    }
    const chunks = text === "slow" ? CHUNKS : 1;
    for (let place = 0; place < chunks && !canceled.has(taskId); place++) {
      const artifact = { ...ARTIFACT, parts: [textPart(`${place} `)] };
      const flags = { append: place > 0, lastChunk: place === chunks - 1 };
      bus.publish(AgentEvent.artifactUpdate({ ...ids, artifact, ...flags, metadata: undefined }));
      if (chunks > 1) await sleep(PACE_MS);
    }
    const isCanceled = canceled.has(taskId);
    tell(bus, ids, isCanceled ? TaskState.TASK_STATE_CANCELED : TaskState.TASK_STATE_COMPLETED);
    bus.finished();
  },
  cancelTask: async (taskId, bus) => {
    canceled.add(taskId);
    const contextId = asking.get(taskId);
    // Nothing runs for a waiting task, so nothing else would end it.
    if (contextId === undefined) return;
    tell(bus, { taskId, contextId }, TaskState.TASK_STATE_CANCELED);
    bus.finished();
  },
};

interface Ids {
  readonly taskId: string;
  readonly contextId: string;
}

function tell(bus: ExecutionEventBus, ids: Ids, state: TaskState, message?: Message): void {
  const status = { state, message, timestamp: new Date().toISOString() };
  bus.publish(AgentEvent.statusUpdate({ ...ids, status, metadata: undefined }));
}

const ARTIFACT = {
  artifactId: "answer",
  name: "",
  description: "",
  metadata: undefined,
  extensions: [],
};

function textPart(text: string): Part {
  const content = { $case: "text", value: text } as const;
  return { content, metadata: undefined, filename: "", mediaType: "" };
}

function textOf({ parts }: Message): string {
  const content = parts[0]?.content;
  return content?.$case === "text" ? content.value : "";
}

function question(ids: Ids): Message {
  const facts = { metadata: undefined, extensions: [], referenceTaskIds: [] };
  const parts = [textPart("well?")];
  return { messageId: randomUUID(), role: Role.ROLE_AGENT, parts, ...ids, ...facts };
}
