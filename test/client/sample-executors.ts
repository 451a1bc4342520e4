import type { Message as MessageV03, TaskStatus as StatusV03 } from "a2a-sdk-v03";
import type { AgentExecutor as ExecutorV03 } from "a2a-sdk-v03/server";
import {
  type Message as MessageV1,
  Role,
  TaskState,
  type TaskStatus as StatusV1,
} from "a2a-sdk-v1";
import { AgentEvent, type AgentExecutor as ExecutorV1 } from "a2a-sdk-v1/server";
import type { SdkServer } from "./sdk-server.ts";
import { startSdkV03 } from "./sdk-server-v03.ts";
import { startSdkV1 } from "./sdk-server-v1.ts";

/** How agents of the official SDK publish what they do, as its samples and its users' agents. */
export const PUBLISHING_WAYS = {
  "the task first": ["task", "working", "end"],
  "the task first if it is new": ["new task", "working", "end"],
  "a status first": ["working", "end"],
  "a message only": ["message"],
  "the final task": ["final task"],
} as const satisfies Record<string, readonly Step[]>;

type Step = "task" | "new task" | "working" | "end" | "final task" | "message";

export type PublishingWay = keyof typeof PUBLISHING_WAYS;

export interface SampleServer extends SdkServer {
  /** The text of each message that the agent worked on, in order. */
  readonly executed: readonly string[];
}

/** The question of an agent that is told to "ask". It completes at any other message. */
export const QUESTION = "Which one?";

/** Starts an agent of `@a2a-js/sdk` that counts what it executes. */
export const SAMPLE_SERVERS = {
  "1.3.0": async (way: PublishingWay): Promise<SampleServer> => {
    const executed: string[] = [];
    return { ...(await startSdkV1(executorV1(PUBLISHING_WAYS[way], executed))), executed };
  },
  "0.3.14": async (way: PublishingWay): Promise<SampleServer> => {
    const executed: string[] = [];
    return { ...(await startSdkV03(executorV03(PUBLISHING_WAYS[way], executed))), executed };
  },
} as const;

function executorV1(steps: readonly Step[], executed: string[]): ExecutorV1 {
  return {
    async execute({ taskId, contextId, userMessage, task }, bus) {
      const ids = { taskId, contextId };
      const content = userMessage.parts[0]?.content;
      const told = content?.$case === "text" ? content.value : "";
      executed.push(told);
      const isQuestion = told.includes("ask");
      const message: MessageV1 = {
        ...ids,
        messageId: crypto.randomUUID(),
        role: Role.ROLE_AGENT,
        parts: [
          {
            content: { $case: "text", value: isQuestion ? QUESTION : `done ${told}` },
            mediaType: "text/plain",
            filename: "",
            metadata: undefined,
          },
        ],
        metadata: undefined,
        extensions: [],
        referenceTaskIds: [],
      };
      const statusOf = (state: TaskState, about?: MessageV1): StatusV1 => ({
        state,
        message: about,
        timestamp: new Date().toISOString(),
      });
      const end = statusOf(
        isQuestion ? TaskState.TASK_STATE_INPUT_REQUIRED : TaskState.TASK_STATE_COMPLETED,
        message,
      );
      const whole = (status: StatusV1) => {
        const history = task?.history ?? [userMessage];
        bus.publish(
          AgentEvent.task({ id: taskId, contextId, status, artifacts: [], history, metadata: {} }),
        );
      };
      const update = (status: StatusV1) =>
        bus.publish(AgentEvent.statusUpdate({ ...ids, status, metadata: undefined }));
      const submitted = task?.status ?? statusOf(TaskState.TASK_STATE_SUBMITTED);
      for (const step of steps) {
        if (step === "task" || (step === "new task" && task === undefined)) whole(submitted);
        else if (step === "working") update(statusOf(TaskState.TASK_STATE_WORKING));
        else if (step === "end") update(end);
        else if (step === "final task") whole(end);
        else if (step === "message") bus.publish(AgentEvent.message(message));
      }
      bus.finished();
    },
    cancelTask: async () => undefined,
  };
}

function executorV03(steps: readonly Step[], executed: string[]): ExecutorV03 {
  return {
    async execute({ taskId, contextId, userMessage, task }, bus) {
      const ids = { taskId, contextId };
      const [part] = userMessage.parts;
      const told = part?.kind === "text" ? part.text : "";
      executed.push(told);
      const isQuestion = told.includes("ask");
      const message: MessageV03 = {
        kind: "message",
        messageId: crypto.randomUUID(),
        role: "agent",
        parts: [{ kind: "text", text: isQuestion ? QUESTION : `done ${told}` }],
        ...ids,
      };
      const statusOf = (state: StatusV03["state"], about?: MessageV03): StatusV03 => ({
        state,
        ...(about && { message: about }),
        timestamp: new Date().toISOString(),
      });
      const end = statusOf(isQuestion ? "input-required" : "completed", message);
      const whole = (status: StatusV03) => {
        const history = task?.history ?? [userMessage];
        bus.publish({ kind: "task", id: taskId, contextId, status, history });
      };
      const update = (status: StatusV03, final: boolean) =>
        bus.publish({ kind: "status-update", ...ids, status, final });
      const submitted = task?.status ?? statusOf("submitted");
      for (const step of steps) {
        if (step === "task" || (step === "new task" && task === undefined)) whole(submitted);
        else if (step === "working") update(statusOf("working"), false);
        else if (step === "end") update(end, true);
        else if (step === "final task") whole(end);
        else if (step === "message") bus.publish(message);
      }
      bus.finished();
    },
    cancelTask: async () => undefined,
  };
}
