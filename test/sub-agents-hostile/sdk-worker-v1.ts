import { type AgentCard, type Message, Role, TaskState } from "a2a-sdk-v1";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
} from "a2a-sdk-v1/server";
import { UserBuilder, agentCardHandler, jsonRpcHandler } from "a2a-sdk-v1/server/express";
import { SdkWork, type SdkWorker, type WorkerVoice, serveWorker } from "./sdk-worker.ts";

interface Ids {
  readonly taskId: string;
  readonly contextId: string;
}

const STATES = {
  working: TaskState.TASK_STATE_WORKING,
  failed: TaskState.TASK_STATE_FAILED,
  completed: TaskState.TASK_STATE_COMPLETED,
  "input-required": TaskState.TASK_STATE_INPUT_REQUIRED,
} as const;

function textOf({ parts }: Message): string {
  return parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");
}

function textPart(value: string): Message["parts"][number] {
  return {
    content: { $case: "text", value },
    metadata: undefined,
    filename: "",
    mediaType: "text/plain",
  };
}

function voiceOf(bus: ExecutionEventBus, ids: Ids, userMessage: Message): WorkerVoice {
  const status = (state: TaskState, text?: string) => ({
    state,
    timestamp: new Date().toISOString(),
    message:
      text === undefined
        ? undefined
        : {
            messageId: crypto.randomUUID(),
            ...ids,
            role: Role.ROLE_AGENT,
            parts: [textPart(text)],
            metadata: undefined,
            extensions: [],
            referenceTaskIds: [],
          },
  });
  return {
    submitted: () =>
      bus.publish(
        AgentEvent.task({
          id: ids.taskId,
          contextId: ids.contextId,
          status: status(TaskState.TASK_STATE_SUBMITTED),
          artifacts: [],
          history: [userMessage],
          metadata: undefined,
        }),
      ),
    status: (state, text) =>
      bus.publish(
        AgentEvent.statusUpdate({
          ...ids,
          status: status(STATES[state], text),
          metadata: undefined,
        }),
      ),
    chunk: (text, append) =>
      bus.publish(
        AgentEvent.artifactUpdate({
          ...ids,
          artifact: {
            artifactId: "answer",
            name: "",
            description: "",
            parts: [textPart(text)],
            metadata: undefined,
            extensions: [],
          },
          append,
          lastChunk: false,
          metadata: undefined,
        }),
      ),
  };
}

function executorOf(work: SdkWork): AgentExecutor {
  return {
    async execute({ taskId, contextId, userMessage, task }, bus) {
      const { messageId, referenceTaskIds } = userMessage;
      const told = { messageId, text: textOf(userMessage), taskId, referenceTaskIds };
      if (task !== undefined) bus.publish(AgentEvent.task(task));
      const voice = voiceOf(bus, { taskId, contextId }, userMessage);
      await work.execute(told, task === undefined, voice);
      bus.finished();
    },
    async cancelTask(taskId, bus) {
      work.canceled.push(taskId);
      const state = TaskState.TASK_STATE_CANCELED;
      const status = { state, message: undefined, timestamp: new Date().toISOString() };
      const event = { taskId, contextId: "", status, metadata: undefined };
      bus.publish(AgentEvent.statusUpdate(event));
      bus.finished();
    },
  };
}

/** A worker that uses `@a2a-js/sdk` 1.3.0. */
export function startWorkerV1(): Promise<SdkWorker> {
  const work = new SdkWork();
  return serveWorker(work, (app, url) => {
    const card: AgentCard = {
      name: "Worker of the SDK",
      description: "Works.",
      version: "1.0.0",
      supportedInterfaces: [
        { url: `${url}/rpc`, protocolBinding: "JSONRPC", tenant: "", protocolVersion: "1.0" },
      ],
      provider: undefined,
      capabilities: { streaming: true, pushNotifications: false, extensions: [] },
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
      executorOf(work),
    );
    const userBuilder = UserBuilder.noAuthentication;
    const cards = agentCardHandler({ agentCardProvider: requestHandler });
    app.use("/.well-known/agent-card.json", cards);
    app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder }));
  });
}
