import { expect, test } from "vitest";
import { toAddress } from "./connection.ts";
import { schemaOf, subAgentUrl } from "./sub-agent-schema.ts";

const DATABASE = "postgres://localhost/agents";

test("the schema of a sub-agent has its name", () => {
  const url = subAgentUrl(subAgentUrl(DATABASE, "Travel Planner"), "flights");

  expect(schemaOf(url)).toBe("convoke_travel_planner_flights");
});

test("sub-agents with long names, or deep below others, have schemas of their own", () => {
  const long = "an agent that knows everything about the flights of all airlines";
  const urls = [
    subAgentUrl(DATABASE, long),
    subAgentUrl(DATABASE, `${long} and trains`),
    subAgentUrl(subAgentUrl(DATABASE, long), "hotels"),
    subAgentUrl(subAgentUrl(DATABASE, long), "hostels"),
  ];

  const schemas = urls.map((url) => toAddress(url).schema);

  expect(new Set(schemas).size).toBe(urls.length);
  expect(schemas[0]).toMatch(/^convoke_an_agent_that_knows_/);
});
