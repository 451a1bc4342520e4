import { type AgentDefinition, defineAgent } from "convoke";
import { setTimeout as sleep } from "node:timers/promises";

const CHUNKS = 12;
const PACE_MS = 40;

/** An agent that answers, works for half a second when it is told "slow", and asks when told "ask". */
const definition: AgentDefinition = {
  name: "Checked",
  description: "Answers, takes its time, or asks.",
  inputModes: ["text/plain"],
  async *run({ text, ask, signal }) {
    if (text === "ask") return `you said ${await ask("well?")}`;
    if (text !== "slow") return `you said ${text.trim()}`;
    for (let chunk = 1; chunk < CHUNKS; chunk++) {
      yield `${chunk} `;
      await sleep(PACE_MS, undefined, { signal });
    }
    return String(CHUNKS);
  },
};

export const checkedAgent = defineAgent(definition);

/** The same agent for content of every media type. */
export const omnivore = defineAgent({ ...definition, inputModes: ["*/*"] });
