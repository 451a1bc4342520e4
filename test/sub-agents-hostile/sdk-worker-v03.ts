import type { AgentCard, Message, TaskState } from "a2a-sdk-v03";
import {
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
} from "a2a-sdk-v03/server";
import { UserBuilder, agentCardHandler, jsonRpcHandler } from "a2a-sdk-v03/server/express";
import { SdkWork, type SdkWorker, type WorkerVoice, serveWorker } from "./sdk-worker.ts";

interface Ids {
  readonly taskId: string;
  readonly contextId: string;
}

function textOf({ parts }: Message): string {
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}

function voiceOf(bus: ExecutionEventBus, ids: Ids, userMessage: Message): WorkerVoice {
  const status = (state: TaskState, text?: string) => ({
    state,
    timestamp: new Date().toISOString(),
    ...(text !== undefined && {
      message: {
        kind: "message" as const,
        messageId: crypto.randomUUID(),
        role: "agent" as const,
        parts: [{ kind: "text" as const, text }],
        ...ids,
      },
    }),
  });
  return {
    submitted: () =>
      bus.publish({
        kind: "task",
        id: ids.taskId,
        contextId: ids.contextId,
        status: status("submitted"),
        history: [userMessage],
      }),
    status: (state, text) =>
      bus.publish({
        kind: "status-update",
        ...ids,
        status: status(state, text),
        final: state !== "working",
      }),
    chunk: (text, append) =>
      bus.publish({
        kind: "artifact-update",
        ...ids,
        artifact: { artifactId: "answer", parts: [{ kind: "text", text }] },
        append,
      }),
  };
}

function executorOf(work: SdkWork): AgentExecutor {
  return {
    async execute({ taskId, contextId, userMessage, task }, bus) {
      const { messageId, referenceTaskIds = [] } = userMessage;
      const told = { messageId, text: textOf(userMessage), taskId, referenceTaskIds };
      const voice = voiceOf(bus, { taskId, contextId }, userMessage);
      await work.execute(told, task === undefined, voice);
      bus.finished();
    },
    async cancelTask(taskId, bus) {
      work.canceled.push(taskId);
      const status = { state: "canceled", timestamp: new Date().toISOString() } as const;
      bus.publish({ kind: "status-update", taskId, contextId: "", status, final: true });
      bus.finished();
    },
  };
}

/** A worker that uses `@a2a-js/sdk` 0.3.14. */
export function startWorkerV03(): Promise<SdkWorker> {
  const work = new SdkWork();
  return serveWorker(work, (app, url) => {
    const card: AgentCard = {
      name: "Worker of the SDK",
      description: "Works.",
      version: "1.0.0",
      protocolVersion: "0.3.0",
      url: `${url}/rpc`,
      preferredTransport: "JSONRPC",
      capabilities: { streaming: true },
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["text/plain"],
      skills: [],
    };
    const requestHandler = new DefaultRequestHandler(
      card,
      new InMemoryTaskStore(),
      executorOf(work),
    );
    const userBuilder = UserBuilder.noAuthentication;
    const cards = agentCardHandler({ agentCardProvider: requestHandler });
    app.use("/.well-known/agent-card.json", cards);
    app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder }));
  });
}
