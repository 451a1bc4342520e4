import { defineAgent } from "convoke";

/** A sub-agent without a model. */
export default defineAgent({
  name: "Trains",
  description: "Finds a train to a city.",
  run: ({ text }) => `${text}: every hour, platform 4.`,
});
