import { expect, test } from "vitest";
import { aTurn, eventsOf } from "../testing/a-turn.suite.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { defineAgent } from "./define-agent.ts";

const CHARACTER = {
  persona: { archetype: "custom", instructions: "You sing." },
  skillBundles: [{ name: "odes", instructions: "Praise." }, { name: "rhymes" }],
};

test.each([
  ["a text", "Write."],
  ["a function", () => "Write."],
])("a model gets its persona, instructions that are %s, and skill bundles", async (_, given) => {
  const model = scriptedModel(["A poem."]);
  const agent = defineAgent({
    name: "Poet",
    description: "Writes.",
    model,
    instructions: given,
    ...CHARACTER,
  });

  await eventsOf(agent.run(aTurn().turn));

  expect(model.requests[0]?.instructions).toBe("You sing.\n\nWrite.\n\n# odes\n\nPraise.");
  expect(agent.info.description).toBe("Writes. | Skills: odes, rhymes");
});
