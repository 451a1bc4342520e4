import { defineAgent } from "convoke";
import { NAMES, cityIn, factsOf } from "./cities.ts";

/** An agent without a model, on a port of its own. It could be anyone's agent, in any language. */
export default defineAgent({
  name: "Flights",
  description: "Finds the next flight to a city.",
  async *run({ text, ask, status }) {
    const city = cityIn(text) ?? cityIn(await ask("Where to?", NAMES));
    yield status(`Looking for flights to ${city}.`);
    yield `The next flight to ${city} leaves at ${factsOf(city!).departure}.`;
  },
});
