import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Server as GrpcServer, ServerCredentials } from "@grpc/grpc-js";
import type { AgentCard, TaskStatusUpdateEvent } from "a2a-sdk-v03";
import {
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
} from "a2a-sdk-v03/server";
import {
  UserBuilder,
  agentCardHandler,
  jsonRpcHandler,
  restHandler,
} from "a2a-sdk-v03/server/express";
import { A2AService, UserBuilder as GrpcUserBuilder, grpcService } from "a2a-sdk-v03/server/grpc";
import express from "express";
import { type PeerServer, listenOn } from "./peer-server.ts";

const CHUNKS = 12;
const PACE_MS = 50;

/** `@a2a-js/sdk` 0.3.14 as its own examples set it up, with every binding. */
export async function startSdkV03(): Promise<PeerServer> {
  const grpc = new GrpcServer();
  const grpcPort = await new Promise<number>((resolve, reject) => {
    grpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
  const app = express();
  const { url, close } = await listenOn(app);
  const requestHandler = new DefaultRequestHandler(
    cardAt(url, grpcPort),
    new InMemoryTaskStore(),
    executor,
  );
  const userBuilder = UserBuilder.noAuthentication;
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
  app.use("/rest", restHandler({ requestHandler, userBuilder }));
  app.use("/", jsonRpcHandler({ requestHandler, userBuilder }));
  grpc.addService(
    A2AService,
    grpcService({ requestHandler, userBuilder: GrpcUserBuilder.noAuthentication }),
  );
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
  return {
    name: "SDK 0.3.14",
    description: "Hands back what it gets.",
    version: "1.0.0",
    protocolVersion: "0.3.0",
    url,
    preferredTransport: "JSONRPC",
    additionalInterfaces: [
      { url, transport: "JSONRPC" },
      { url: `${url}rest`, transport: "HTTP+JSON" },
      { url: `127.0.0.1:${grpcPort}`, transport: "GRPC" },
    ],
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "echo", name: "echo", description: "Hands back.", tags: ["echo"] }],
  };
}

const canceled = new Set<string>();
/** The contexts of the tasks that wait for an answer. */
const asking = new Map<string, string>();

const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const ids = { taskId, contextId };
    const [part] = userMessage.parts;
    const text = part?.kind === "text" ? part.text : "";
    if (task === undefined) {
      const status = { state: "submitted", timestamp: new Date().toISOString() } as const;
      bus.publish({ kind: "task", id: taskId, contextId, status, history: [userMessage] });
    }
    tell(bus, ids, "working", false);
    if (text === "ask") {
      asking.set(taskId, contextId);
      tell(bus, ids, "input-required", true);
      return bus.finished();
    }
    const chunks = text === "slow" ? CHUNKS : 1;
    for (let place = 0; place < chunks && !canceled.has(taskId); place++) {
      const artifact = {
        artifactId: "answer",
        parts: [{ kind: "text", text: `${place} ` } as const],
      };
      const flags = { append: place > 0, lastChunk: place === chunks - 1 };
      bus.publish({ kind: "artifact-update", ...ids, artifact, ...flags });
      if (chunks > 1) await sleep(PACE_MS);
    }
    tell(bus, ids, canceled.has(taskId) ? "canceled" : "completed", true);
    bus.finished();
  },
  cancelTask: async (taskId, bus) => {
    canceled.add(taskId);
    const contextId = asking.get(taskId);
    // Nothing runs for a waiting task, so nothing else would end it.
    if (contextId === undefined) return;
    tell(bus, { taskId, contextId }, "canceled", true);
    bus.finished();
  },
};

function tell(
  bus: ExecutionEventBus,
  ids: { readonly taskId: string; readonly contextId: string },
  state: TaskStatusUpdateEvent["status"]["state"],
  final: boolean,
): void {
  const timestamp = new Date().toISOString();
  const parts = [{ kind: "text", text: "well?" } as const];
  const message = {
    kind: "message",
    messageId: randomUUID(),
    role: "agent",
    parts,
    ...ids,
  } as const;
  const status = { state, timestamp, ...(state === "input-required" && { message }) };
  bus.publish({ kind: "status-update", ...ids, status, final });
}
