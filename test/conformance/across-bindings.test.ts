import { randomUUID } from "node:crypto";
import type { A2APart } from "@convoke/protocol";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent } from "./conformance-agent.ts";
import { readAll } from "./reading.ts";
import { Refusal, refusalOf } from "./refusal.ts";
import { aMessage, aRequest } from "./requests.ts";
import type { Speaker } from "./speaker.ts";
import { speakersOf, speakersTo } from "./speakers.ts";

const server = useServer(conformanceAgent());

/** Those who write JSON, and so can say what protobuf cannot. */
const WRITERS = speakersTo(server).filter(({ binding }) => binding !== "grpc");

/** Parts that a binding may refuse. What it takes, the others must be able to tell. */
const EDGES: Readonly<Record<string, A2APart>> = {
  "bytes that are no base64": { kind: "file", file: { bytes: "***" } },
  "bytes in base64 for URLs": { kind: "file", file: { bytes: "_-8" } },
  "text with half a character": { kind: "text", text: "half \ud800" },
  "data that is 90 levels deep": { kind: "data", data: nested(90) },
  "data that is 110 levels deep": { kind: "data", data: nested(110) },
  "data that is 1000 levels deep": { kind: "data", data: nested(1000) },
  "a number at the end of what there is": { kind: "data", data: { most: 1.7976931348623157e308 } },
  "a name that objects have": { kind: "data", data: JSON.parse('{"__proto__":1}') },
};

describe.each(WRITERS)("what was sent over $binding $version", (speaker) => {
  for (const [what, part] of Object.entries(EDGES)) {
    verifies("v1-S5", `can be read on every binding, or is refused: ${what}`, async () => {
      const contextId = randomUUID();
      const taskId = await taken(speaker, aMessage("", { contextId, parts: [part] }));
      if (taskId === undefined) return;

      for (const reader of speakersTo(server)) {
        expect((await reader.get({ taskId })).id).toBe(taskId);
        const told = await readAll(reader.subscribe({ taskId }, { lastEventId: "1" }));
        expect(told.length).toBeGreaterThan(0);
      }
      for (const reader of speakersOf(server, "1.0")) {
        expect((await reader.list({ contextId, includeArtifacts: true })).tasks).toHaveLength(1);
      }
    });
  }

  verifies(
    "v1-S48",
    "with bytes that are no base64 is refused, and the field is named",
    async () => {
      const file = { bytes: "***" };

      const refusal = await refusalOf(
        speaker.send(aRequest(aMessage("", { parts: [{ kind: "file", file }] }))),
      );

      expect(refusal.reason).toBe("InvalidParams");
      expect(refusal.field).toMatch(/^message\.(parts|content)\[0\]/);
    },
  );
});

/** The id of the task, where the message was taken. */
async function taken(
  speaker: Speaker,
  message: ReturnType<typeof aMessage>,
): Promise<string | undefined> {
  try {
    return (await speaker.sendTask(aRequest(message))).id;
  } catch (thrown) {
    if (
      thrown instanceof Refusal &&
      ["InvalidParams", "InvalidRequest"].includes(`${thrown.reason}`)
    ) {
      return undefined;
    }
    throw thrown;
  }
}

function nested(levels: number): unknown {
  let value: unknown = "deep";
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
}
