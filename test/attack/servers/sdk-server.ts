import { Server as GrpcServer, ServerCredentials, status as grpcStatus } from "@grpc/grpc-js";
import { AgentCard, TaskState } from "a2a-sdk-v1";
import { LegacyA2AService, legacyGrpcService } from "a2a-sdk-v1/compat/v0_3/server/grpc";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
  type User,
} from "a2a-sdk-v1/server";
import { agentCardHandler, jsonRpcHandler, restHandler } from "a2a-sdk-v1/server/express";
import { A2AService, grpcService } from "a2a-sdk-v1/server/grpc";
import express, { type Request } from "express";
import { type JSONWebKeySet, createLocalJWKSet, jwtVerify } from "jose";
import type { AddressInfo } from "node:net";
import { AUDIENCE, ISSUER } from "../token-issuer.ts";

// `@a2a-js/sdk` 1.3.0 in its own process, as its README and samples set it up: Express handlers on
// a server with the defaults of Node, gRPC on a port of its own, stores in memory, and bearer tokens
// that are verified before the handlers and become the user of a request.

const { keySet } = JSON.parse(process.argv[2]!) as { readonly keySet: JSONWebKeySet };
const keys = createLocalJWKSet(keySet);

/** The user of a token; rejects if it is not valid. */
async function userOf(authorization: string | undefined): Promise<User> {
  const [, token = ""] = /^Bearer (.+)$/i.exec(authorization ?? "") ?? [];
  const { payload } = await jwtVerify(token, keys, { issuer: ISSUER, audience: AUDIENCE });
  return { isAuthenticated: true, userName: String(payload.sub) };
}

const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const content = userMessage.parts[0]?.content;
    const text = content?.$case === "text" ? content.value : "";
    const at = (state: TaskState) => ({
      state,
      message: undefined,
      timestamp: new Date().toISOString(),
    });
    const ids = { taskId, contextId };
    const created = {
      id: taskId,
      contextId,
      status: at(TaskState.TASK_STATE_SUBMITTED),
      artifacts: [],
      history: [userMessage],
      metadata: undefined,
    };
    bus.publish(AgentEvent.task(task ?? created));
    if (text === "ask") {
      const status = at(TaskState.TASK_STATE_INPUT_REQUIRED);
      bus.publish(AgentEvent.statusUpdate({ ...ids, status, metadata: undefined }));
      return bus.finished();
    }
    const value = text === "large" ? "large".repeat(180_000) : `You said: ${text}`;
    const artifact = {
      artifactId: "answer",
      name: "",
      description: "",
      metadata: undefined,
      extensions: [],
      parts: [
        {
          content: { $case: "text", value } as const,
          metadata: undefined,
          filename: "",
          mediaType: "",
        },
      ],
    };
    const flags = { append: false, lastChunk: true, metadata: undefined };
    bus.publish(AgentEvent.artifactUpdate({ ...ids, artifact, ...flags }));
    const status = at(TaskState.TASK_STATE_COMPLETED);
    bus.publish(AgentEvent.statusUpdate({ ...ids, status, metadata: undefined }));
    bus.finished();
  },
  cancelTask: () => Promise.resolve(),
};

const grpc = new GrpcServer();
const grpcPort = await new Promise<number>((resolve, reject) => {
  grpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
    error === null ? resolve(port) : reject(error),
  );
});
const app = express();
const http = app.listen(0, "127.0.0.1");
await new Promise((resolve) => http.once("listening", resolve));
const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/`;

const card = AgentCard.fromJSON({
  name: "Target",
  description: "Repeats messages.",
  version: "1.0.0",
  supportedInterfaces: ["1.0", "0.3"].flatMap((protocolVersion) => [
    { url, protocolBinding: "JSONRPC", protocolVersion },
    { url: `${url}rest`, protocolBinding: "HTTP+JSON", protocolVersion },
    { url: `127.0.0.1:${grpcPort}`, protocolBinding: "GRPC", protocolVersion },
  ]),
  capabilities: { streaming: true, pushNotifications: true },
  securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "bearer" } } },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "echo", name: "echo", description: "Repeats.", tags: ["echo"] }],
});
const pushes = new InMemoryPushNotificationStore();
const requestHandler = new DefaultRequestHandler(
  card,
  new InMemoryTaskStore(),
  executor,
  undefined,
  pushes,
  new DefaultPushNotificationSender(pushes),
);
const legacyCompat = { enabled: true };

const users = new WeakMap<Request, User>();
const userBuilder = (request: Request): Promise<User> => Promise.resolve(users.get(request)!);

app.use(
  "/.well-known/agent-card.json",
  agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }),
);
app.use(async (request, response, next) => {
  try {
    users.set(request, await userOf(request.headers.authorization));
    next();
  } catch {
    response.status(401).json({ error: "Unauthorized" });
  }
});
app.use("/rest", restHandler({ requestHandler, userBuilder, legacyCompat }));
app.use("/", jsonRpcHandler({ requestHandler, userBuilder, legacyCompat }));

const grpcOptions = {
  requestHandler,
  userBuilder: async ({ metadata }: { readonly metadata: { get(name: string): unknown[] } }) => {
    try {
      return await userOf(metadata.get("authorization")[0] as string | undefined);
    } catch {
      throw Object.assign(new Error("Unauthorized"), { code: grpcStatus.UNAUTHENTICATED });
    }
  },
};
grpc.addService(A2AService, grpcService(grpcOptions));
grpc.addService(LegacyA2AService, legacyGrpcService(grpcOptions));

process.on("disconnect", () => process.exit());
process.send?.({ url });
