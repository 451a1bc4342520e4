import { type AgentDefinition, artifact, complete, defineAgent } from "convoke";
import { type Message, textOfParts } from "@convoke/protocol";
import { isSettled } from "@convoke/engine";
import { describe, expect, test } from "vitest";
import { anEngine, tell } from "./an-engine.ts";

async function answered(
  given: Pick<AgentDefinition, "run" | "finalMessage">,
  options: Parameters<typeof anEngine>[2] = {},
) {
  const agent = defineAgent({ name: "Final", description: "Answers.", ...given });
  const { live } = await tell(anEngine(agent, undefined, options), "go");
  await live.until(isSettled);
  return live.task;
}

async function* story() {
  yield "Once ";
  yield "upon a time.";
}

function textOfMessage(message: Message | undefined): string | undefined {
  return message && textOfParts(message.parts);
}

describe("the completed status", () => {
  test("has the answer of a function only if the agent or the server says so", async () => {
    const plain = await answered({ run: story });
    const own = await answered({ run: story, finalMessage: true });
    const all = await answered({ run: story }, { finalMessage: true });

    expect(plain.status).not.toHaveProperty("message");
    for (const { status, artifacts } of [own, all]) {
      expect(status.state).toBe("completed");
      expect(textOfMessage(status.message)).toBe("Once upon a time.");
      expect(artifacts).toEqual(plain.artifacts);
    }
  });

  test("has the text of each artifact, and what the agent says itself instead", async () => {
    const several = await answered({
      finalMessage: true,
      async *run() {
        yield "Here it is.";
        yield artifact("poem", "Roses are red.");
      },
    });
    const own = await answered({ finalMessage: true, run: () => complete("All done.") });
    const nothing = await answered({ finalMessage: true, run: () => undefined });

    expect(textOfMessage(several.status.message)).toBe("Here it is.\nRoses are red.");
    expect(textOfMessage(own.status.message)).toBe("All done.");
    expect(nothing.status).not.toHaveProperty("message");
  });

  test("is not a second answer in the conversation of the next task", async () => {
    const heard: string[][] = [];
    const agent = defineAgent({
      name: "Final",
      description: "Answers.",
      finalMessage: true,
      run({ conversation, text }) {
        heard.push(conversation.map(({ parts }) => textOfParts(parts)));
        return `You said ${text}.`;
      },
    });
    const engine = anEngine(agent);
    for (const text of ["one", "two"]) {
      const { live } = await tell(engine, text, { contextId: "c1" });
      await live.until(isSettled);
    }

    expect(heard).toEqual([[], ["one", "You said one."]]);
  });
});
