import { defineAgent } from "convoke";
import { NAMES, cityIn, factsOf } from "./cities.ts";

/** An agent without a model that runs in the process of its caller. */
export default defineAgent({
  name: "Outlook",
  description: "Tells the weather in a city, to help with packing.",
  run: ({ text }) => {
    const city = cityIn(text);
    if (city === undefined) return `I know ${NAMES.join(", ")}.`;
    return `${city}: ${factsOf(city).sky}.`;
  },
});
