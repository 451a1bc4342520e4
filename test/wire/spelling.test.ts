import { beforeAll, describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { DIALECTS, type Dialect } from "./dialect.ts";
import { bodyOf } from "./rpc.ts";
import { WireClient } from "./wire-client.ts";
import { useServer } from "./wire-server.ts";

const [V03, V1] = DIALECTS as [Dialect, Dialect];

/** Every state that the demo agent can bring a task to, and everything it can produce. */
const COMMANDS = ["hello", "slow 3", "ask", "auth", "fail", "reject", "artifact", "message"];

const server = useServer();

/** The responses to every command: sent, streamed, read again. Each is one JSON text. */
async function everything(dialect: Dialect): Promise<readonly string[]> {
  const client = new WireClient(server, dialect);
  const texts: string[] = [];
  for (const command of COMMANDS) {
    const stream = await client.stream(command);
    // The stream of `auth` stays open longer than this test needs.
    if (command === "auth" && dialect.version === "1.0") {
      await stream.take(3);
      stream.leave();
    }
    const frames = await stream.all.catch(() => stream.take(3));
    texts.push(...frames.map(({ text }) => text));
    const sent = await client.send(command);
    texts.push(sent.text);
    const result = client.resultOf(sent);
    if (result.kind === "task") texts.push((await client.call("get", { id: result.id })).text);
  }
  const { id } = await client.sendTask("slow 1000", { configuration: dialect.atOnce });
  texts.push((await client.call("cancel", { id })).text);
  return texts;
}

/**
 * Every protocol object inside a value, including itself. The data of a part belongs to the agent.
 */
function objectsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).flatMap(([name, field]) =>
    name === "data" ? [] : objectsIn(field),
  );
  return Array.isArray(value) ? inner : [value as Readonly<Record<string, unknown>>, ...inner];
}

function statesIn(texts: readonly string[]): ReadonlySet<unknown> {
  const objects = texts.flatMap((text) => objectsIn(JSON.parse(text)));
  return new Set(objects.flatMap((object) => ("state" in object ? [object["state"]] : [])));
}

describe("0.3", () => {
  let texts: readonly string[];
  beforeAll(async () => {
    texts = await everything(V03);
  });

  verifies(["R23", "R24"], "puts the kind first in every object that has one", () => {
    const kinds = texts.flatMap((text) =>
      objectsIn(JSON.parse(text)).filter((object) => "kind" in object),
    );

    expect(kinds.length).toBeGreaterThan(50);
    for (const object of kinds) expect(Object.keys(object)[0]).toBe("kind");
    expect(new Set(kinds.map(({ kind }) => kind))).toEqual(
      new Set([
        "task",
        "message",
        "status-update",
        "artifact-update",
        "text",
        "file",
        "data",
        "input-request",
      ]),
    );
  });

  verifies("R23", "gives every result its kind", () => {
    for (const text of texts) {
      const { result } = JSON.parse(text) as { result: object };

      expect(result).toHaveProperty("kind");
    }
  });

  verifies("R22", "discriminates parts by kind and never by type", () => {
    const parts = texts.flatMap((text) =>
      objectsIn(JSON.parse(text)).flatMap((object) => (object["parts"] ?? []) as object[]),
    );

    expect(parts.length).toBeGreaterThan(20);
    for (const part of parts) {
      expect(part).toHaveProperty("kind");
      expect(part).not.toHaveProperty("type");
    }
  });

  verifies(["R25", "R26"], "spells the states as 0.3 names them", () => {
    expect(statesIn(texts)).toEqual(
      new Set([
        "submitted",
        "working",
        "input-required",
        "auth-required",
        "completed",
        "canceled",
        "failed",
        "rejected",
      ]),
    );
  });

  verifies(["R38", "R40"], "states in every status update whether it is final", () => {
    const updates = texts
      .flatMap((text) => objectsIn(JSON.parse(text)))
      .filter(({ kind }) => kind === "status-update");

    expect(updates.length).toBeGreaterThan(10);
    for (const { status, final } of updates) {
      const { state } = status as { state: string };
      expect(final).toBe(state !== "working");
    }
  });

  verifies("R30", "gives every status a timestamp", () => {
    const statuses = texts.flatMap((text) =>
      objectsIn(JSON.parse(text)).filter((object) => "state" in object),
    );

    for (const { timestamp } of statuses) {
      expect(new Date(String(timestamp)).toISOString()).toBe(timestamp);
    }
  });
});

describe("1.0", () => {
  let texts: readonly string[];
  beforeAll(async () => {
    texts = await everything(V1);
  });

  verifies("R25", "spells the states as proto names", () => {
    expect(statesIn(texts)).toEqual(
      new Set([
        "TASK_STATE_SUBMITTED",
        "TASK_STATE_WORKING",
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_AUTH_REQUIRED",
        "TASK_STATE_COMPLETED",
        "TASK_STATE_CANCELED",
        "TASK_STATE_FAILED",
        "TASK_STATE_REJECTED",
      ]),
    );
  });

  verifies("R34", "wraps streamed and returned objects in exactly one member", () => {
    const wrapped = texts
      .map((text) => bodyOf({ status: 200, headers: new Headers(), text }).result as object)
      .filter((result) => !("id" in result));

    const names = wrapped.map((result) => Object.keys(result));
    for (const name of names) expect(name).toHaveLength(1);
    expect(new Set(names.flat())).toEqual(
      new Set(["task", "message", "statusUpdate", "artifactUpdate"]),
    );
  });

  verifies("R34", "has neither kind nor final anywhere", () => {
    for (const object of texts.flatMap((text) => objectsIn(JSON.parse(text)))) {
      expect(object).not.toHaveProperty("kind");
      expect(object).not.toHaveProperty("final");
    }
  });

  verifies("R28", "writes parts flat, discriminated by their single content field", () => {
    const parts = texts.flatMap((text) =>
      objectsIn(JSON.parse(text)).flatMap((object) => (object["parts"] ?? []) as object[]),
    );

    for (const part of parts) {
      const contents = ["text", "raw", "url", "data"].filter((name) => name in part);
      expect(contents).toHaveLength(1);
    }
    expect(parts).toContainEqual({
      raw: Buffer.from("Made by the demo agent.\n").toString("base64"),
      filename: "notes.txt",
      mediaType: "text/plain",
    });
    expect(parts).toContainEqual({ data: { agent: "demo", answer: 42 } });
  });
});

for (const dialect of DIALECTS) {
  verifies(["R27"], `no field of a message is lost (${dialect.version})`, async () => {
    const client = new WireClient(server, dialect);
    const { id: taskId, contextId } = await client.sendTask("ask");
    const message = {
      messageId: `m-${dialect.version}`,
      taskId,
      contextId,
      referenceTaskIds: ["t1", "t2"],
      extensions: ["https://example.com/extension"],
      metadata: { nested: { list: [1, null, "ä"] } },
    };

    const unknown = { unknownField: { kept: false } };
    const { history } = await client.sendTask("Ann", { message: { ...message, ...unknown } });

    const received = history?.at(-1);
    expect(received).toMatchObject({ ...message, role: "user", parts: [{ text: "Ann" }] });
    expect(received).not.toHaveProperty("unknownField");
  });
}
