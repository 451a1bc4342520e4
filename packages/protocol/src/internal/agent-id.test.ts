import { expect, test } from "vitest";
import { agentIdFrom, checkAgentId } from "./agent-id.ts";

test.each([
  ["Support Desk", "support-desk"],
  ["  Crème  Brûlée ", "creme-brulee"],
  ["v1.2_beta", "v1.2_beta"],
])("the id of an agent named %j is %s", (name, id) => {
  expect(agentIdFrom(name)).toBe(id);
});

test("names with lost letters, reserved names and long names have different and valid ids", () => {
  const long = "a".repeat(80);
  const names = ["C++", "C#", "C", "客服", "天気", "host", "agents", "..", "-", long, `${long}b`];

  const ids = names.map(agentIdFrom);

  expect(new Set(ids).size).toBe(names.length);
  for (const id of ids) expect(() => checkAgentId(id)).not.toThrow();
});

test.each(["", "Support", "a b", "../etc", "-a", "a.", "host", "a".repeat(65), 7])(
  "%j is rejected as the id of an agent",
  (id) => {
    expect(() => checkAgentId(id)).toThrow("the id of an agent must be");
  },
);
