import { type Agent, type ModelSpec, defineAgent, tool } from "convoke";
import { type City, NAMES, factsOf } from "./cities.ts";
import { reserve } from "./reservations.ts";

interface Stay {
  readonly city: City;
  readonly nights: number;
}

function priceOf({ city, nights }: Stay): string {
  return `${factsOf(city).night * nights} EUR`;
}

const book = tool({
  name: "book",
  description: "Books a room.",
  inputSchema: {
    type: "object",
    properties: { city: { enum: NAMES }, nights: { type: "integer", minimum: 1, maximum: 30 } },
    required: ["city", "nights"],
  },
  // This spends money, so the user who started the conversation decides, however many agents are in between.
  confirm: ({ input }) => {
    const stay = input as unknown as Stay;
    return {
      title: `Book ${stay.nights} nights in ${stay.city} for ${priceOf(stay)}`,
      risk: "warning",
    };
  },
  // The reservation is stored under the key, so the call may run again after a crash.
  idempotent: true,
  run: async (input, { key }) => {
    const stay = input as unknown as Stay;
    const number = await reserve(key, stay);
    return `Reservation ${number}: ${stay.nights} nights in ${stay.city}, ${priceOf(stay)}.`;
  },
});

/** Books hotel rooms, each only after it was approved. */
export function hotels(model: ModelSpec): Agent {
  return defineAgent({
    name: "Hotels",
    description: "Books a hotel room. Tell it the city and how many nights.",
    model,
    instructions: "Book what you are asked for, once. Answer with the number of the reservation.",
    tools: [book],
  });
}

export default hotels(process.env["MODEL"] ?? "demo");
