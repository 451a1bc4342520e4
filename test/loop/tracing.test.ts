import type { TraceContext } from "@convoke/protocol";
import { type ToolTrace, tool } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { ours } from "../mcp/a-world.ts";
import { AgentWorld } from "../mcp/an-agent.ts";
import { verifies } from "../verifies.ts";
import { LoopWorld } from "./a-loop-world.ts";
import { calls, resultsTold } from "./scripts.ts";

const IDS = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };

/** A tool that records its trace, and completes only the calls of the second process. */
function aLookout(): { readonly seen: ToolTrace[]; readonly lookout: ReturnType<typeof tool> } {
  const seen: ToolTrace[] = [];
  const lookout = tool({
    name: "look",
    description: "Looks.",
    idempotent: true,
    run: (_, { trace }) => {
      seen.push(trace);
      return seen.length === 1 ? new Promise(() => undefined) : "seen";
    },
  });
  return { seen, lookout };
}

describe.each(["00", "01"])("a trace of the caller with the flags %s", (flags) => {
  const trace: TraceContext = { ...IDS, flags, state: "rojo=1,congo=2" };

  verifies(["R121", "R124"], "reaches tools and MCP servers, also after a restart", async () => {
    const { seen, lookout } = aLookout();
    const model = scriptedModel([calls("look"), calls("helpful__meta"), "Done."]);
    const mcpServers = { helpful: ours("helpful-server") };
    const world = new AgentWorld({ model, tools: [lookout], mcpServers }, { trace });
    const taskId = await world.tell("go");
    await expect.poll(() => seen.length, { timeout: 20_000 }).toBe(1);

    await world.restart();
    const task = await world.settled(taskId);

    expect(task.status.state).toBe("completed");
    const traceparent = `00-${IDS.traceId}-${IDS.spanId}-${flags}`;
    const expected = { traceparent, tracestate: "rojo=1,congo=2" };
    expect(seen).toEqual(Array.from({ length: 2 }, () => ({ ...expected, traceId: IDS.traceId })));
    expect(JSON.parse(String(resultsTold(model.requests).at(-1)))).toMatchObject(expected);
  });
});

test("a task without a caller's trace has its own, which stays the same after a restart", async () => {
  const { seen, lookout } = aLookout();
  const world = new LoopWorld({ model: scriptedModel([calls("look"), "Done."]), tools: [lookout] });
  const taskId = await world.tell("go");
  await expect.poll(() => seen.length, { timeout: 20_000 }).toBe(1);

  await world.restart();
  await world.settled(taskId);

  expect(seen[0]!.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  expect(seen[1]).toEqual(seen[0]);
});
