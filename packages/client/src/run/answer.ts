import {
  type Connection,
  type DataPart,
  EXTENSIONS,
  type Message,
  type Task,
  isInterrupted,
  textOf,
  textOfParts,
} from "@convoke/protocol";
import type { TaskSnapshot } from "./task-events.ts";

/** The answer of an agent: a task, or a message without a task. */
export interface Answer {
  /** The answer as text; see `textOf`. */
  readonly text: string;
  readonly task?: Task;
  readonly message?: Message;
  /** The question that the agent needs answered before it continues. */
  readonly question?: Question;
}

/** The answer that was read. If reading began in the middle of its task, the agent has the rest. */
export function answerIn(
  { answer, taskId = "", isPartial }: TaskSnapshot,
  connection: Connection,
): Answer | Promise<Answer> {
  if (answer !== undefined && !isPartial) return toAnswer(answer);
  return connection.call("getTask", { taskId }).then(toAnswer);
}

function toAnswer(answer: Task | Message): Answer {
  const text = textOf(answer);
  if (answer.kind === "message") return { text, message: answer };
  if (!isInterrupted(answer.status.state)) return { text, task: answer };
  return { text, task: answer, question: toQuestion(answer) };
}

/** A question of a task that waits for its caller. */
export interface Question {
  /** Whether it waits for an answer or for an authorization. */
  readonly kind: "input-required" | "auth-required";
  /** The text of the question; "" if there is none. */
  readonly text: string;
  /** The answers to choose from, if the agent offers some. */
  readonly options?: readonly string[];
  /** The agent's message, unchanged. */
  readonly message?: Message;
  readonly taskId: string;
  readonly contextId: string;
}

export function toQuestion({ id: taskId, contextId, status }: Task): Question {
  const { state, message } = status;
  const options = message && findOptions(message);
  return {
    kind: state === "auth-required" ? "auth-required" : "input-required",
    text: message === undefined ? "" : textOfParts(message.parts),
    ...(options && { options }),
    ...(message && { message }),
    taskId,
    contextId,
  };
}

/** A2A has no field for options; agents put them into the metadata or into a data part. */
function findOptions({ parts, metadata }: Message): readonly string[] | undefined {
  const candidates = [
    metadata,
    ...parts.map((part) => (part.kind === "data" ? dataUnlessApproval(part) : undefined)),
  ];
  for (const candidate of candidates) {
    if (typeof candidate !== "object" || candidate === null) continue;
    const { options, choices } = candidate as Readonly<Record<string, unknown>>;
    const list = Array.isArray(options) ? options : choices;
    if (!Array.isArray(list) || list.length === 0) continue;
    if (list.every((option) => typeof option === "string")) return list;
  }
  return undefined;
}

/** The choices of an approval are not text answers: a text answer would decline it. */
function dataUnlessApproval({ data, metadata }: DataPart): unknown {
  return metadata?.[EXTENSIONS.approvals.uri] === undefined ? data : undefined;
}
