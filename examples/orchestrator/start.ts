import { join } from "node:path";
import { serve } from "convoke";
import { planner } from "./agent.ts";
import flights from "./flights.ts";
import hotels from "./hotels.ts";

// Three ports, as if the agents belonged to three companies; `outlook` needs none.

const port = Number(process.env["PORT"] ?? 3000);
const data = process.env["DATA"] ?? join(".convoke", "trips");

function place(name: string, offset: number): { readonly port: number; readonly data: string } {
  return { port: port === 0 ? 0 : port + offset, data: join(data, name) };
}

const [flying, sleeping] = await Promise.all([
  serve(flights, place("flights", 1)),
  serve(hotels, place("hotels", 2)),
]);
const addresses = { flights: flying.url, hotels: sleeping.url };
const planning = await serve(
  planner(process.env["MODEL"] ?? "demo", addresses),
  place("planner", 0),
);

console.log(`Flights answer at ${flying.url} and hotels at ${sleeping.url}.`);
console.log(`The trip planner is at ${planning.url}`);

/** Unfinished tasks resume at the next start. */
async function stop(): Promise<void> {
  await planning.close();
  await Promise.all([flying.close(), sleeping.close()]);
  process.exit();
}

process.once("SIGINT", () => void stop());
process.once("SIGTERM", () => void stop());
