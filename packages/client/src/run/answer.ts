import {
  type DataPart,
  EXTENSIONS,
  type Message,
  type Task,
  isInterrupted,
  textOf,
  textOfParts,
} from "@convoke/protocol";

/** What an agent answered: a task, or one message without a task. */
export interface Answer {
  /** The answer as text; see `textOf`. */
  readonly text: string;
  readonly task?: Task;
  readonly message?: Message;
  /** What the agent wants to know before it goes on. */
  readonly question?: Question;
}

export function toAnswer(answer: Task | Message): Answer {
  const text = textOf(answer);
  if (answer.kind === "message") return { text, message: answer };
  if (!isInterrupted(answer.status.state)) return { text, task: answer };
  return { text, task: answer, question: toQuestion(answer) };
}

/** A task waits for its caller. */
export interface Question {
  /** What it waits for: an answer, or that the caller authorizes something. */
  readonly kind: "input-required" | "auth-required";
  /** What the agent says about it; "" when it says nothing. */
  readonly text: string;
  /** The answers to choose from, where the agent gave some. */
  readonly options?: readonly string[];
  /** The agent's words as they came. */
  readonly message?: Message;
  readonly taskId: string;
  readonly contextId: string;
}

export function toQuestion({ id: taskId, contextId, status }: Task): Question {
  const { state, message } = status;
  const options = message && optionsOf(message);
  return {
    kind: state === "auth-required" ? "auth-required" : "input-required",
    text: message === undefined ? "" : textOfParts(message.parts),
    ...(options && { options }),
    ...(message && { message }),
    taskId,
    contextId,
  };
}

/** A2A has no field for them; agents that offer some put a list into the metadata or into a data part. */
function optionsOf({ parts, metadata }: Message): readonly string[] | undefined {
  const places = [
    metadata,
    ...parts.map((part) => (part.kind === "data" ? dataOf(part) : undefined)),
  ];
  for (const place of places) {
    if (typeof place !== "object" || place === null) continue;
    const { options, choices } = place as Readonly<Record<string, unknown>>;
    const list = Array.isArray(options) ? options : choices;
    if (!Array.isArray(list) || list.length === 0) continue;
    if (list.every((option) => typeof option === "string")) return list;
  }
  return undefined;
}

/** What an approval offers are no words to answer with: they would give it up. */
function dataOf({ data, metadata }: DataPart): unknown {
  return metadata?.[EXTENSIONS.approvals.uri] === undefined ? data : undefined;
}
