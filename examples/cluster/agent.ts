import { hostname } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import { defineAgent, reject } from "convoke";

const REGIONS = ["North", "East", "South", "West", "Islands", "Overseas"];

/** How long the agent rests between two regions, so that there is time to kill its server. */
const PAUSE_MS = Number(process.env["REPORT_PAUSE_MS"] ?? 1000);

/** Compiles a report in durable steps, and says which server did each of them. */
export default defineAgent({
  name: "Reports",
  description: "Compiles a report, region by region, and publishes it once you agree.",
  skills: [
    {
      id: "report",
      name: "Report",
      description: "Counts the orders of the regions that you name, and can publish the result.",
      tags: ["report"],
      examples: ["North, East", "publish North", "publish all"],
    },
  ],
  async *run({ text, step, sleep, ask, artifact }) {
    const regions = regionsIn(text);
    if (regions.length === 0) return `Name some regions, or say "all": ${REGIONS.join(", ")}.`;
    const figures: Figure[] = [];
    for (const region of regions) {
      if (figures.length > 0) await sleep(PAUSE_MS);
      const figure = await step("count", () => countOrders(region), {
        id: region,
        idempotent: true,
      });
      figures.push(figure);
      yield `${region}: ${figure.orders} orders, counted by ${figure.server}\n`;
    }
    if (text.includes("publish")) {
      if ((await ask("Publish it?", ["yes", "no"])) === "no") return reject("not published");
      yield `Published by ${await step("publish", async () => serverName())}.`;
    }
    return artifact("report.json", figures);
  },
});

function regionsIn(text: string): readonly string[] {
  const words = text.toLowerCase().split(/\W+/);
  return REGIONS.filter((region) => words.includes("all") || words.includes(region.toLowerCase()));
}

interface Figure {
  readonly orders: number;
  readonly server: string;
}

/** Stands for a query of a data warehouse. */
async function countOrders(region: string): Promise<Figure> {
  await wait(20);
  return { orders: 100 * region.length, server: serverName() };
}

function serverName(): string {
  return process.env["CONVOKE_HOST_ID"] ?? hostname();
}
