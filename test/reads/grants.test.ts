import { expect, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { useReadServer } from "./a-read-server.ts";

const logger = memoryLogger();
const server = useReadServer({ logger });

interface Grant {
  readonly id: string;
  readonly owner?: string;
}

async function grantsOf(token: string, query = ""): Promise<readonly Grant[]> {
  const { grants } = await server.json<{ readonly grants: readonly Grant[] }>(
    token,
    `grants${query}`,
  );
  return grants;
}

/** Approves the call of a task for always, and returns the conversation. */
async function approveAlways(token: string): Promise<string> {
  const { contextId } = await server.start(token);
  const { approvals } = await server.json<{ readonly approvals: readonly { id: string }[] }>(
    token,
    "approvals",
  );
  const path = `convoke/approvals/${encodeURIComponent(approvals[0]!.id)}:answer`;
  const { code } = await server.change(token, "POST", path, { decision: "always" });
  expect(code).toBe(200);
  await expect.poll(async () => (await grantsOf(token)).length, { timeout: 20_000 }).toBe(1);
  return contextId;
}

test("what was approved for always is listed, and asked for again after it was taken back", async () => {
  const contextId = await approveAlways("ann");
  const state = async (context?: string): Promise<string> =>
    (await server.start("ann", "Delete it.", context)).status.state;
  expect(await state()).toBe("completed");

  const [grant] = await grantsOf("ann");
  expect(grant).toEqual({
    id: expect.any(String),
    agentId: "thinker",
    tool: "delete",
    grantedAt: expect.any(String),
  });
  const removed = await server.change("ann", "DELETE", `convoke/grants/${grant!.id}`);

  expect(removed).toEqual({ code: 200, removed: grant!.id });
  expect(await grantsOf("ann")).toEqual([]);
  expect(await state()).toBe("input-required");
  // Also in the conversation in which it was said.
  expect(await state(contextId)).toBe("input-required");
  expect((await server.change("ann", "DELETE", `convoke/grants/${grant!.id}`)).code).toBe(404);
  expect(logger.lines.join("\n")).toContain('"grant.removed"');
});

test("callers see and take back their own grants, and operators those of all owners of their tenant", async () => {
  await approveAlways("bob");
  const [his] = await grantsOf("bob");
  const path = `convoke/grants/${his!.id}`;

  expect(await grantsOf("ann")).toEqual([]);
  expect((await server.change("ann", "DELETE", path)).code).toBe(404);
  expect((await server.fetch("ann", "grants?owner=*")).status).toBe(403);
  expect(await grantsOf("operator@acme", "?owner=*")).toEqual([]);
  expect((await server.change("operator@acme", "DELETE", `${path}?owner=*`)).code).toBe(404);
  expect(await grantsOf("operator", "?owner=*")).toMatchObject([{ id: his!.id, owner: "bob" }]);
  expect((await server.change("operator", "DELETE", `${path}?owner=*`)).code).toBe(200);
  expect(await grantsOf("bob")).toEqual([]);
});
