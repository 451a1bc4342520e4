import { type AgentDefinition, defineAgent } from "convoke";
import { setTimeout as sleep } from "node:timers/promises";

const CHUNKS = 18;
const MANY = 400;
const PACE_MS = 40;

/**
 * An agent that answers, works for most of a second at "slow", emits hundreds of events at "many", and
 * asks at "ask".
 */
const definition: AgentDefinition = {
  name: "Checked",
  description: "Answers, takes its time, or asks.",
  inputModes: ["text/plain"],
  async *run({ text, ask, signal }) {
    if (text === "ask") return `you said ${await ask("well?")}`;
    if (text === "many") {
      for (let chunk = 1; chunk < MANY; chunk++) yield `${chunk} `;
    } else if (!text.startsWith("slow")) return `you said ${text.trim()}`;
    const [, chunks = CHUNKS] = text.split(" ");
    for (let chunk = 1; chunk < Number(chunks); chunk++) {
      yield `${chunk} `;
      await sleep(PACE_MS, undefined, { signal });
    }
    return String(chunks);
  },
};

export const checkedAgent = defineAgent(definition);

/** The same agent for content of every media type. */
export const omnivore = defineAgent({ ...definition, inputModes: ["*/*"] });

/** The same agent with examples on its card. */
export const withExamples = defineAgent({
  ...definition,
  skills: [
    {
      id: "tricks",
      name: "Tricks",
      description: "Does what it is told.",
      tags: [],
      examples: ["hello there", "slow 40", "ask"],
    },
  ],
});
