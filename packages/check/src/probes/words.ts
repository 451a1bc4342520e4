import { must, should } from "../claim.ts";
import type { Probe } from "../probe.ts";
import type { Scene } from "../scene/scene.ts";
import { ordinary } from "../scene/tasks.ts";
import { ordinaryStory } from "../scene/streams.ts";
import { type Exchange, Failed, Skipped } from "../verdict.ts";
import type { Binding } from "../wire/binding.ts";
import { isObject } from "../wire/json.ts";
import { valuesNamed, wrongNames } from "../wire/walk.ts";

const WRITERS: readonly Binding[] = ["jsonrpc", "rest"];

/** How JSON is written. */
export const WORDS: readonly Probe[] = [
  {
    name: "one-member",
    says: "The answer to a send has exactly one member, task or message.",
    claims: [must("v1-S8", "§3.1.1")],
    bindings: WRITERS,
    async run(scene) {
      const params = scene.requests.send(scene.settings.message);
      const { result, exchange } = await scene.served(
        scene.call("sendMessage", params),
        "a task or a message",
      );
      if (membersOf(result, ["task", "message"]) !== 1) {
        throw new Failed("{task} or {message}", exchange);
      }
    },
  },
  {
    name: "one-member-each",
    says: "Each event has exactly one of task, message, statusUpdate, artifactUpdate.",
    claims: [must("v1-S14", "§3.2.3")],
    bindings: WRITERS,
    async run(scene) {
      const { items, exchange } = await ordinaryStory(scene);
      const names = ["task", "message", "statusUpdate", "artifactUpdate"];
      if (items.some(({ json }) => membersOf(json, names) !== 1)) {
        throw new Failed("events with exactly one member each", exchange);
      }
    },
  },
  {
    name: "camel-case",
    says: "The names of fields are camelCase.",
    claims: [must("v1-S44", "§5.5")],
    bindings: WRITERS,
    async run(scene) {
      for (const { json, exchange } of await seenJson(scene)) {
        const wrong = wrongNames(json);
        if (wrong.length > 0) throw new Failed(`camelCase, not ${wrong.join(", ")}`, exchange);
      }
    },
  },
  {
    name: "enums",
    says: "States and roles have the names of the proto.",
    claims: [must("v1-S44", "§5.5")],
    bindings: WRITERS,
    async run(scene) {
      for (const { json, exchange } of await seenJson(scene)) {
        expectAll(
          valuesNamed(json, "state"),
          /^TASK_STATE_[A-Z_]+$/,
          "states such as TASK_STATE_COMPLETED",
          exchange,
        );
        expectAll(
          valuesNamed(json, "role"),
          /^ROLE_(USER|AGENT)$/,
          "roles that are ROLE_USER or ROLE_AGENT",
          exchange,
        );
      }
    },
  },
  {
    name: "times",
    says: "Times are ISO 8601 in UTC, with a Z.",
    claims: [must("v1-S45", "§5.6.1")],
    bindings: WRITERS,
    async run(scene) {
      const pattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
      await judgeTimes(scene, pattern, "timestamps such as 2026-01-31T10:30:00.000Z");
    },
  },
  {
    name: "milliseconds",
    says: "Times have milliseconds.",
    claims: [should("v1-S45", "§5.6.1")],
    bindings: WRITERS,
    async run(scene) {
      await judgeTimes(scene, /\.\d{3}Z$/, "timestamps with milliseconds");
    },
  },
  {
    name: "times",
    says: "Times are ISO 8601.",
    claims: [must("v03-S21", "§6.2")],
    bindings: WRITERS,
    async run(scene) {
      const pattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/;
      await judgeTimes(scene, pattern, "timestamps in ISO 8601");
    },
  },
];

function membersOf(json: unknown, names: readonly string[]): number {
  return isObject(json) ? names.filter((name) => Object.hasOwn(json, name)).length : 0;
}

async function judgeTimes(scene: Scene, pattern: RegExp, expected: string): Promise<void> {
  let found = 0;
  for (const { json, exchange } of await seenJson(scene)) {
    const times = valuesNamed(json, "timestamp");
    expectAll(times, pattern, expected, exchange);
    found += times.length;
  }
  if (found === 0) throw new Skipped("the server tells no times");
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

/** What the ordinary message is answered with, and what its stream tells where there is one. */
async function seenJson(
  scene: Scene,
): Promise<readonly { readonly json: unknown; readonly exchange: Exchange }[]> {
  const { value, exchange } = await ordinary(scene);
  const answer = { json: value.json, exchange };
  if (!scene.card.streaming) return [answer];
  const story = await ordinaryStory(scene);
  return [answer, ...story.items.map(({ json }) => ({ json, exchange: story.exchange }))];
}
