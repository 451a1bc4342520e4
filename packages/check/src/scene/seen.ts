import { TASK_STATES, type TaskState } from "@convoke/protocol";
import { type JsonObject, at, isObject, listAt, textAt } from "../wire/json.ts";

/** A task, as far as it can be made out in any of the three dialects. What is wrong is absent. */
export interface SeenTask {
  readonly kind: "task";
  readonly taskId: string;
  readonly contextId: string;
  readonly state: TaskState | undefined;
  readonly history: readonly unknown[];
  readonly artifacts: readonly unknown[];
  readonly json: JsonObject;
}

interface SeenMessage {
  readonly kind: "message";
  readonly contextId: string;
  readonly json: JsonObject;
}

interface SeenStatus {
  readonly kind: "status";
  readonly taskId: string;
  readonly state: TaskState | undefined;
  /** What 0.3 says about the end of the stream; 1.0 has no such word. */
  readonly final: unknown;
  readonly json: JsonObject;
}

interface SeenArtifact {
  readonly kind: "artifact";
  readonly taskId: string;
  readonly artifactId: string;
  readonly append: boolean;
  readonly text: string;
  readonly json: JsonObject;
}

export type SeenResult = SeenTask | SeenMessage;
export type SeenEvent = SeenResult | SeenStatus | SeenArtifact;

/** What a send was answered with; `undefined` for what is neither a task nor a message. */
export function seenResult(json: unknown): SeenResult | undefined {
  const event = seenEvent(json);
  return event?.kind === "task" || event?.kind === "message" ? event : undefined;
}

/** An event: by `kind` in the JSON-RPC of 0.3, otherwise by the one member that it has. */
export function seenEvent(json: unknown): SeenEvent | undefined {
  if (!isObject(json)) return undefined;
  const kind = MEMBERS[textAt(json, "kind")];
  if (kind !== undefined) return seenAs(kind, json);
  const members = Object.keys(json).filter((name) => Object.hasOwn(MEMBERS, name));
  const [name = ""] = members;
  const inner = json[name];
  const found = MEMBERS[name];
  if (members.length !== 1 || found === undefined || !isObject(inner)) return undefined;
  return seenAs(found, inner);
}

/** A task that stands alone. */
export function seenTask(json: unknown): SeenTask | undefined {
  if (!isObject(json)) return undefined;
  const task = taskOf(json);
  return task.taskId === "" ? undefined : task;
}

const MEMBERS: Readonly<Record<string, SeenEvent["kind"]>> = {
  task: "task",
  message: "message",
  msg: "message",
  "status-update": "status",
  statusUpdate: "status",
  "artifact-update": "artifact",
  artifactUpdate: "artifact",
};

function seenAs(kind: SeenEvent["kind"], json: JsonObject): SeenEvent {
  switch (kind) {
    case "task":
      return taskOf(json);
    case "message":
      return { kind, contextId: textAt(json, "contextId"), json };
    case "status": {
      const state = stateOf(at(json, "status", "state"));
      return { kind, taskId: textAt(json, "taskId"), state, final: json["final"], json };
    }
    case "artifact":
      return {
        kind,
        taskId: textAt(json, "taskId"),
        artifactId: textAt(json, "artifact", "artifactId"),
        append: json["append"] === true,
        text: textOfParts(at(json, "artifact")),
        json,
      };
    default:
      return kind satisfies never;
  }
}

function taskOf(json: JsonObject): SeenTask {
  return {
    kind: "task",
    taskId: textAt(json, "id"),
    contextId: textAt(json, "contextId"),
    state: stateOf(at(json, "status", "state")),
    history: listAt(json, "history"),
    artifacts: listAt(json, "artifacts"),
    json,
  };
}

/** The state in any spelling: `TASK_STATE_CANCELLED` is `canceled`. */
function stateOf(written: unknown): TaskState | undefined {
  const word = String(written).replace("TASK_STATE_", "").toLowerCase().replaceAll("_", "-");
  const state = word === "cancelled" ? "canceled" : word;
  return TASK_STATES.find((known) => known === state);
}

/** The parts of a message or an artifact, which REST and gRPC of 0.3 call `content` in a message. */
export function partsOf(owner: unknown): readonly unknown[] {
  const parts = listAt(owner, "parts");
  return parts.length > 0 ? parts : listAt(owner, "content");
}

/** The text in the parts of a message or an artifact, joined. */
export function textOfParts(owner: unknown): string {
  return partsOf(owner)
    .map((part) => textAt(part, "text"))
    .join("");
}
