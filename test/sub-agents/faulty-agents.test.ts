import { FAULT_SCENARIOS, startFaultyAgent } from "../client-faults/index.ts";
import { AgentLoop } from "@convoke/runtime";
import { expect, onTestFinished, test } from "vitest";
import { calls } from "../loop/scripts.ts";
import { callsOnce, toldIn } from "./a-hop.ts";

/** Time limit for each, if it does not end by itself. */
const TIMEOUT_MS = 20_000;
const COMPARED = 1000;

/** Every fault of an agent while it responds, once each. */
const scenarios = FAULT_SCENARIOS.filter(
  ({ asks, tls, needsAgent, right }) =>
    asks === "stream" &&
    tls === undefined &&
    needsAgent !== true &&
    !("state" in right && right.state === "input-required"),
);

test("agents that lie, hang or send garbage fail their own calls, and nothing else", async () => {
  const agents = await Promise.all(scenarios.map((scenario) => startFaultyAgent(scenario)));
  onTestFinished(async () => void (await Promise.all(agents.map((agent) => agent.close()))));
  const named = agents.map(({ url, others }, place) => {
    const subAgent = { url, allow: others, timeoutMs: TIMEOUT_MS };
    return [`agent-${place}`, subAgent] as const;
  });
  await using loop = new AgentLoop({
    model: callsOnce(...named.map(([name]) => calls(name, { message: "hello" }))),
    subAgents: Object.fromEntries(named),
    maxParallelTools: named.length,
  });

  const task = await loop.invokeSync([{ kind: "text", text: "go" }]);

  expect(task.status.state).toBe("completed");
  const told = toldIn(task);
  expect(told).toHaveLength(scenarios.length);
  for (const [place, { isError, output }] of told.entries()) {
    const { id, right } = scenarios[place]!;
    if (isError) {
      expect(output, id).toMatch(new RegExp(`^(Tool )?agent-${place} `));
      continue;
    }
    // Only the agent's actual final output counts as a result, to the letter.
    expect(right, id).toHaveProperty("text");
    expect(textOf(output), id).toBe((right as { readonly text: string }).text.slice(0, COMPARED));
  }
  expect(told.filter(({ isError }) => !isError).length).toBeGreaterThan(scenarios.length / 3);
}, 120_000);

/** The text of a result, as far as it is compared: the longest are truncated for the model. */
function textOf(output: unknown): string {
  const { text = "", artifacts = [] } = output as {
    readonly text?: string;
    readonly artifacts?: readonly { readonly text?: string }[];
  };
  const texts = artifacts.map((artifact) => artifact.text ?? "").filter((one) => one !== "");
  return (texts.length === 0 ? text : texts.join("\n")).slice(0, COMPARED);
}
