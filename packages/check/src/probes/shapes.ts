import { must } from "../claim.ts";
import type { Probe } from "../probe.ts";
import { type SeenResult, partsOf } from "../scene/seen.ts";
import { ordinary } from "../scene/tasks.ts";
import { ordinaryStory } from "../scene/streams.ts";
import { Failed } from "../verdict.ts";
import { at, isObject, listAt, textAt } from "../wire/json.ts";

const KINDS = ["text", "file", "data"];

/** What tasks, messages and artifacts must have. */
export const SHAPES: readonly Probe[] = [
  {
    name: "required-fields",
    says: "Tasks, messages and artifacts have all that they must have.",
    claims: [must("v1-S46", "§5.7"), must("v03-S11", "§6")],
    async run(scene) {
      const { value, exchange } = await ordinary(scene);
      const [missing] = missingIn(value);
      if (missing !== undefined) throw new Failed(`${missing} in the answer`, exchange);
    },
  },
  {
    name: "event-fields",
    says: "Events name their task and their context.",
    claims: [must("v1-S46", "§4.2"), must("v03-S11", "§7.2.2")],
    async run(scene) {
      const { events, exchange } = await ordinaryStory(scene);
      for (const { kind, json } of events) {
        if (kind !== "status" && kind !== "artifact") continue;
        for (const name of ["taskId", "contextId"]) {
          if (textAt(json, name) === "") throw new Failed(`a ${name} in each update`, exchange);
        }
      }
    },
  },
  {
    name: "kinds",
    says: "Tasks, messages and parts say their kind.",
    claims: [must("v03-S21", "§6")],
    bindings: ["jsonrpc"],
    async run(scene) {
      const { value, exchange } = await ordinary(scene);
      if (at(value.json, "kind") !== value.kind)
        throw new Failed(`kind: "${value.kind}"`, exchange);
      for (const message of messagesIn(value)) {
        if (at(message, "kind") !== "message") throw new Failed('kind: "message"', exchange);
      }
      const owners = [...messagesIn(value), ...listAt(value.json, "artifacts")];
      for (const part of owners.flatMap(partsOf)) {
        if (!KINDS.includes(textAt(part, "kind"))) {
          throw new Failed("parts whose kind is text, file or data", exchange);
        }
      }
    },
  },
  {
    name: "event-kinds",
    says: "Each event of a stream says its kind.",
    claims: [must("v03-S21", "§7.2")],
    bindings: ["jsonrpc"],
    async run(scene) {
      const { events, exchange } = await ordinaryStory(scene);
      const kinds = ["task", "message", "status-update", "artifact-update"];
      if (events.every(({ json }) => kinds.includes(textAt(json, "kind")))) return;
      throw new Failed(`events whose kind is one of ${kinds.join(", ")}`, exchange);
    },
  },
];

/** What is not there, by its path. */
function missingIn(value: SeenResult): readonly string[] {
  const missing: string[] = [];
  if (value.kind === "task") {
    if (value.taskId === "") missing.push("task.id");
    if (value.state === undefined) missing.push("task.status.state");
    for (const artifact of value.artifacts) {
      if (textAt(artifact, "artifactId") === "") missing.push("artifact.artifactId");
      if (partsOf(artifact).length === 0) missing.push("artifact.parts");
    }
  }
  for (const message of messagesIn(value)) {
    if (textAt(message, "messageId") === "") missing.push("message.messageId");
    if (textAt(message, "role") === "") missing.push("message.role");
    if (partsOf(message).length === 0) missing.push("message.parts");
  }
  return missing;
}

function messagesIn(value: SeenResult): readonly unknown[] {
  if (value.kind === "message") return [value.json];
  const said = at(value.json, "status", "message");
  return isObject(said) ? [...value.history, said] : value.history;
}
