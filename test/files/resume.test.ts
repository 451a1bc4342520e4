import {
  type A2APart,
  type ArtifactUpdateEvent,
  type Message,
  userMessage,
} from "@convoke/protocol";
import { scriptedModel } from "@convoke/runtime/testing";
import { defineAgent } from "convoke";
import { expect, test } from "vitest";
import { World } from "../engine/a-world.ts";
import { anEngine, tell } from "../engine/an-engine.ts";
import { CONTENT, aFileMessage, fileIn } from "./a-file.ts";

const BYTES = CONTENT.toString("base64");

test("a turn that resumes has the files of its messages, and does not write the same file again", async () => {
  const seen: (string | undefined)[] = [];
  const world = new World(
    async function* ({ message, artifact, ask, step }) {
      seen.push(fileIn(message.parts).file.bytes);
      yield artifact("copy", CONTENT);
      await step("once", () => 1);
      const answer = await ask.message("Another?");
      seen.push(fileIn(answer.parts).file.bytes);
      await step("twice", () => 2);
    },
    { inputModes: ["*/*"] },
  );
  const { live } = await tell(world.engine, "", aFileMessage());
  const taskId = live.task.id;
  await world.settled(taskId);

  await world.restart();
  await tell(world.engine, "", aFileMessage(CONTENT, { taskId }));
  await world.settled(taskId);
  const { status } = await world.task(taskId);

  expect(status.state).toBe("completed");
  expect(seen.every((bytes) => bytes === BYTES)).toBe(true);
  expect(seen.length).toBeGreaterThanOrEqual(3);
  const copies = (await world.events(taskId)).filter(isCopy);
  expect(copies).toHaveLength(1);
});

function isCopy(event: { readonly kind: string }): event is ArtifactUpdateEvent {
  return event.kind === "artifact-update";
}

test("a model reads the files of earlier messages of its conversation", async () => {
  const read: (readonly A2APart[])[] = [];
  const model = scriptedModel([
    "A photograph.",
    ({ transcript }) => {
      for (const entry of transcript) if (entry.role === "user") read.push(entry.parts);
      return "The same one.";
    },
  ]);
  const agent = defineAgent({ name: "Seer", description: "Sees.", model, inputModes: ["*/*"] });
  const engine = anEngine(agent);
  const first = await tell(engine, "", aFileMessage());
  await first.live.run?.ended;
  const more: Partial<Message> = { ...userMessage("m2", "And now?") };

  const second = await tell(engine, "", { ...more, contextId: first.live.contextId });
  await second.live.run?.ended;

  expect(fileIn(read.flat()).file.bytes === BYTES).toBe(true);
});
