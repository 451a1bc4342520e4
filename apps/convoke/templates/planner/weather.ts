import { defineAgent } from "convoke";

/** A sub-agent without a model. */
export default defineAgent({
  name: "Weather",
  description: "Tells the weather in a city.",
  run: ({ text }) => `${text}: sunny, 21 degrees.`,
});
