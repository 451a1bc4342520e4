import { randomUUID } from "node:crypto";
import type { A2APart, Message, Task } from "@convoke/protocol";
import fc, { type Arbitrary } from "fast-check";
import { describe, expect } from "vitest";
import { jsonObjects, modelOf } from "../../packages/protocol/src/testing/arbitraries.suite.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent } from "./conformance-agent.ts";
import { readAll } from "./reading.ts";
import { aMessage, aRequest } from "./requests.ts";
import type { Told } from "./speaker.ts";
import { speakersTo } from "./speakers.ts";

const server = useServer(conformanceAgent(), { idempotency: "always" });
const speakers = speakersTo(server);

/**
 * Everything that both versions can express on every binding. The 0.3 proto has no references to
 * other tasks, and no proto distinguishes an empty name from an absent one. The text of the first
 * part is fixed, because the agent treats it as a command.
 */
const messages: Arbitrary<Message> = fc
  .record(
    {
      parts: fc.array(modelOf("0.3").part.map(sayable), { minLength: 1, maxLength: 4 }),
      contextId: fc.uuid(),
      metadata: jsonObjects,
      extensions: fc.array(fc.webUrl(), { minLength: 1, maxLength: 2 }),
    },
    { requiredKeys: ["parts"], noNullPrototype: true },
  )
  .map(({ parts, ...rest }) =>
    aMessage("", { ...rest, parts: [{ kind: "text", text: "echo:" }, ...parts] }),
  );

const RUNS = { numRuns: 10 };

describe("all bindings in both versions", () => {
  verifies(["v1-S5", "v03-S10"], "create the same task from the same message", async () => {
    await fc.assert(
      fc.asyncProperty(messages, async (message) => {
        const tasks = await Promise.all(
          speakers.map((speaker) =>
            speaker.sendTask(aRequest({ ...message, messageId: randomUUID() })),
          ),
        );

        const [first, ...others] = tasks.map((task) => anonymous(task, message));
        for (const other of others) expect(other).toEqual(first);
        expect(first?.artifacts?.[0]?.parts).toEqual(message.parts);
      }),
      RUNS,
    );
  });

  verifies(["v1-S5", "v03-S10"], "recognize a message that is sent again", async () => {
    await fc.assert(
      fc.asyncProperty(messages, async (drawn) => {
        const request = aRequest({ ...drawn, messageId: randomUUID() });
        const tasks: Task[] = [];
        for (const speaker of speakers) tasks.push(await speaker.sendTask(request));

        for (const task of tasks) expect(task).toEqual(tasks[0]);
      }),
      RUNS,
    );
  });

  verifies(["v1-S5", "v1-S16", "v03-S10"], "send the same events with the same ids", async () => {
    await fc.assert(
      fc.asyncProperty(messages, async (drawn) => {
        const request = aRequest({ ...drawn, messageId: randomUUID() });
        const told: (readonly Told[])[] = [];
        for (const speaker of speakers) {
          told.push((await readAll(speaker.stream(request))).map(plain));
        }

        for (const events of told) expect(events).toEqual(told[0]);
      }),
      RUNS,
    );
  });
});

/** A task without what is unique to it: generated ids and times. */
function anonymous(task: Task, sent: Message): Task {
  const contextId = sent.contextId ?? "context";
  const { timestamp: _, ...status } = task.status;
  return {
    ...task,
    id: "task",
    contextId: task.contextId === sent.contextId ? contextId : "context",
    status,
    ...(task.history && {
      history: task.history.map((message) => ({
        ...message,
        messageId: "message",
        taskId: "task",
        contextId: message.contextId === task.contextId ? contextId : "another",
      })),
    }),
  };
}

/** Names that are not empty, and bytes in canonical base64. */
function sayable(part: A2APart): A2APart {
  if (part.kind !== "file") return part;
  const { name, mimeType, bytes, uri } = part.file;
  const file = {
    ...(name && { name }),
    ...(mimeType && { mimeType }),
    ...(bytes !== undefined && { bytes: Buffer.from(bytes, "base64").toString("base64") }),
    ...(uri !== undefined && { uri }),
  };
  return { ...part, file };
}

/** A proto omits false. */
function plain({ id, event }: Told): Told {
  if (event.kind !== "artifact-update") return { id, event };
  const { append = false, lastChunk = false, ...rest } = event;
  return { id, event: { ...rest, append, lastChunk } };
}
