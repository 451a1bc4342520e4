import { type Probe, must, should } from "./probe.ts";
import { type ObservedResult, partsIn } from "../scene/observed.ts";
import {
  expectProtoNames,
  finishedTask,
  ordinaryResult,
  ordinaryStream,
} from "../scene/fixtures.ts";
import { type Exchange, Failed, Skipped } from "../wire/exchange.ts";
import { isObject } from "@convoke/protocol/internal";
import { at, listAt, notCamelCase, textAt, valuesNamed } from "../wire/json.ts";
import type { Scene } from "../scene/scene.ts";
import { JSON_BINDINGS } from "../wire/client.ts";

const KINDS = ["text", "file", "data"];

/** Required fields. */
export const SHAPES: readonly Probe[] = [
  {
    name: "required-fields",
    says: "Tasks, messages and artifacts have their required fields.",
    claims: [must("v1-S46", "§5.7"), must("v03-S11", "§6")],
    async run(scene) {
      const { value, exchange } = await ordinaryResult(scene);
      const [missing] = missingIn(value);
      if (missing !== undefined) throw new Failed(`${missing} in the result`, exchange);
    },
  },
  {
    name: "event-fields",
    says: "Updates have a taskId and a contextId.",
    claims: [must("v1-S46", "§4.2"), must("v03-S11", "§7.2.2")],
    async run(scene) {
      const { events, exchange } = await ordinaryStream(scene);
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
    says: "Tasks, messages and parts have a kind.",
    claims: [must("v03-S21", "§6")],
    bindings: ["jsonrpc"],
    async run(scene) {
      const { value, exchange } = await ordinaryResult(scene);
      if (at(value.json, "kind") !== value.kind)
        throw new Failed(`kind: "${value.kind}"`, exchange);
      for (const message of messagesIn(value)) {
        if (at(message, "kind") !== "message") throw new Failed('kind: "message"', exchange);
      }
      const owners = [...messagesIn(value), ...listAt(value.json, "artifacts")];
      for (const part of owners.flatMap(partsIn)) {
        if (!KINDS.includes(textAt(part, "kind"))) {
          throw new Failed("parts whose kind is text, file or data", exchange);
        }
      }
    },
  },
  {
    name: "event-kinds",
    says: "Each event of a stream has a kind.",
    claims: [must("v03-S21", "§7.2")],
    bindings: ["jsonrpc"],
    async run(scene) {
      const { events, exchange } = await ordinaryStream(scene);
      const kinds = ["task", "message", "status-update", "artifact-update"];
      if (events.every(({ json }) => kinds.includes(textAt(json, "kind")))) return;
      throw new Failed(`events whose kind is one of ${kinds.join(", ")}`, exchange);
    },
  },
];

/** The paths of missing required fields. */
function missingIn(value: ObservedResult): readonly string[] {
  const missing: string[] = [];
  if (value.kind === "task") {
    if (value.taskId === "") missing.push("task.id");
    if (value.state === undefined) missing.push("task.status.state");
    for (const artifact of value.artifacts) {
      if (textAt(artifact, "artifactId") === "") missing.push("artifact.artifactId");
      if (partsIn(artifact).length === 0) missing.push("artifact.parts");
    }
  }
  for (const message of messagesIn(value)) {
    if (textAt(message, "messageId") === "") missing.push("message.messageId");
    if (textAt(message, "role") === "") missing.push("message.role");
    if (partsIn(message).length === 0) missing.push("message.parts");
  }
  return missing;
}

function messagesIn(value: ObservedResult): readonly unknown[] {
  if (value.kind === "message") return [value.json];
  const said = at(value.json, "status", "message");
  return isObject(said) ? [...value.history, said] : value.history;
}

/** The format of JSON. */
export const WORDS: readonly Probe[] = [
  {
    name: "one-member",
    says: "The result of a send has exactly one member, task or message.",
    claims: [must("v1-S8", "§3.1.1")],
    bindings: JSON_BINDINGS,
    async run(scene) {
      const params = scene.requests.send(scene.settings.message);
      const { result, exchange } = await scene.expectResult(
        scene.call("sendMessage", params),
        "a task or a message",
      );
      if (countMembers(result, ["task", "message"]) !== 1) {
        throw new Failed("{task} or {message}", exchange);
      }
    },
  },
  {
    name: "one-member-each",
    says: "Each event has exactly one of task, message, statusUpdate, artifactUpdate.",
    claims: [must("v1-S14", "§3.2.3")],
    bindings: JSON_BINDINGS,
    async run(scene) {
      const { items, exchange } = await ordinaryStream(scene);
      const names = ["task", "message", "statusUpdate", "artifactUpdate"];
      if (items.some(({ json }) => countMembers(json, names) !== 1)) {
        throw new Failed("events with exactly one member each", exchange);
      }
    },
  },
  {
    name: "camel-case",
    says: "Field names are camelCase.",
    claims: [must("v1-S44", "§5.5")],
    bindings: JSON_BINDINGS,
    async run(scene) {
      for (const { json, exchange } of await collectJson(scene)) {
        const wrong = notCamelCase(json);
        if (wrong.length > 0) throw new Failed(`camelCase, not ${wrong.join(", ")}`, exchange);
      }
    },
  },
  {
    name: "enums",
    says: "States and roles use the enum names of the proto.",
    claims: [must("v1-S44", "§5.5")],
    bindings: JSON_BINDINGS,
    async run(scene) {
      for (const { json, exchange } of await collectJson(scene)) {
        expectAll(
          valuesNamed(json, "state"),
          /^TASK_STATE_[A-Z_]+$/,
          "states such as TASK_STATE_COMPLETED",
          exchange,
        );
        expectAll(
          valuesNamed(json, "role"),
          /^ROLE_(USER|AGENT)$/,
          "the roles ROLE_USER or ROLE_AGENT",
          exchange,
        );
      }
    },
  },
  {
    name: "proto-names",
    says: "Fields of a request may have their names in the proto.",
    claims: [should("v1-S44", "§5.5")],
    bindings: JSON_BINDINGS,
    async run(scene) {
      await expectProtoNames(scene);
      const { taskId } = (await finishedTask(scene)).value;
      const { result, exchange } = await scene.expectResult(
        scene.call("getTask", { id: taskId, history_length: 0 }),
        "the task",
      );
      if (at(result, "history") !== undefined)
        throw new Failed("a task without a history", exchange);
    },
  },
  {
    name: "times",
    says: "Timestamps are ISO 8601 in UTC, with a Z.",
    claims: [must("v1-S45", "§5.6.1")],
    bindings: JSON_BINDINGS,
    async run(scene) {
      const pattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
      await expectTimes(scene, pattern, "timestamps such as 2026-01-31T10:30:00.000Z");
    },
  },
  {
    name: "milliseconds",
    says: "Timestamps have milliseconds.",
    claims: [should("v1-S45", "§5.6.1")],
    bindings: JSON_BINDINGS,
    async run(scene) {
      await expectTimes(scene, /\.\d{3}Z$/, "timestamps with milliseconds");
    },
  },
  {
    name: "times",
    says: "Timestamps are ISO 8601.",
    claims: [must("v03-S21", "§6.2")],
    bindings: JSON_BINDINGS,
    async run(scene) {
      const pattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/;
      await expectTimes(scene, pattern, "timestamps in ISO 8601");
    },
  },
];

function countMembers(json: unknown, names: readonly string[]): number {
  return isObject(json) ? names.filter((name) => Object.hasOwn(json, name)).length : 0;
}

async function expectTimes(scene: Scene, pattern: RegExp, expected: string): Promise<void> {
  let found = 0;
  for (const { json, exchange } of await collectJson(scene)) {
    const times = valuesNamed(json, "timestamp");
    expectAll(times, pattern, expected, exchange);
    found += times.length;
  }
  if (found === 0) throw new Skipped("the server sends no timestamps");
}

function expectAll(
  values: readonly unknown[],
  pattern: RegExp,
  expected: string,
  exchange: Exchange,
): void {
  const wrong = values.find((value) => typeof value !== "string" || !pattern.test(value));
  if (wrong !== undefined) throw new Failed(`${expected}, not ${JSON.stringify(wrong)}`, exchange);
}

/** The result of the ordinary message and, if there is one, the events of its stream. */
async function collectJson(
  scene: Scene,
): Promise<readonly { readonly json: unknown; readonly exchange: Exchange }[]> {
  const { value, exchange } = await ordinaryResult(scene);
  const response = { json: value.json, exchange };
  if (!scene.card.streaming) return [response];
  const stream = await ordinaryStream(scene);
  return [response, ...stream.items.map(({ json }) => ({ json, exchange: stream.exchange }))];
}
