import type { Caller } from "@convoke/protocol";
import { bearer } from "convoke";
import { describe, expect, test } from "vitest";
import { scriptedModel } from "@convoke/runtime/testing";
import { aGuardedTool } from "../approvals/a-guarded-tool.ts";
import { type Client, servedAgent, structuredClient, until } from "../approvals/a-served-agent.ts";
import { calls } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";

const CALLERS: Readonly<Record<string, Caller>> = {
  ann: { owner: "ann", scopes: ["read"] },
  approver: { owner: "boss", scopes: ["convoke:approve"] },
  operator: { owner: "ops", scopes: ["convoke:operate"] },
  "ann@acme": { owner: "ann", tenant: "acme" },
  "approver@acme": { owner: "boss", tenant: "acme", scopes: ["convoke:approve"] },
  "operator@acme": { owner: "ops", tenant: "acme", scopes: ["convoke:operate"] },
};

const auth = Object.entries(CALLERS).map(([token, caller]) => bearer(token, caller));

/** A server whose agent needs an approval for everything, and a client for each of its callers. */
async function aWorld(roles = { approversActForOthers: true }) {
  const { guarded, ran } = aGuardedTool();
  const model = scriptedModel([
    calls("delete", { path: "a" }),
    calls("delete", { path: "b" }),
    "Done.",
  ]);
  const push = { allow: ["127.0.0.1"] };
  const agent = await servedAgent({ model, tools: [guarded] }, { auth, roles, push });
  const as = (token: string): Client =>
    structuredClient(agent, { authorization: `Bearer ${token}` });
  return { as, ran };
}

interface Listed {
  readonly id: string;
  readonly taskId: string;
  readonly owner?: string;
}

async function listed(client: Client, query = ""): Promise<readonly Listed[]> {
  const { status, body } = await client.fetch(`/convoke/approvals${query}`);
  expect([status, body]).toEqual([200, body]);
  return body["approvals"] as readonly Listed[];
}

describe("an approver", () => {
  test("sees and decides the approvals of others, if the operator allows it", async () => {
    const { as, ran } = await aWorld();
    const { id: taskId } = await as("ann").send("go");

    expect(await listed(as("approver"))).toEqual([]);
    const [approval] = await listed(as("approver"), "?owner=*");
    expect(approval).toMatchObject({ taskId, owner: "ann" });
    const path = `/convoke/approvals/${approval!.id}:answer`;
    expect((await as("approver").fetch(path, { decision: "once" })).status).toBe(400);
    expect((await as("approver").fetch(`${path}?owner=*`, { decision: "once" })).status).toBe(200);

    const task = await until(as("ann"), taskId, "input-required");
    expect(ran).toEqual([{ path: "a" }]);
    expect(JSON.stringify(task.history)).toContain('"decidedBy":"boss"');
  });

  test("decides its own approvals only, by default", async () => {
    const { as } = await aWorld({ approversActForOthers: false });
    await as("ann").send("go");
    const [own] = await listed(as("ann"));

    const seen = await as("approver").fetch("/convoke/approvals?owner=*");
    const decided = await as("approver").fetch(`/convoke/approvals/${own!.id}:answer?owner=*`, {
      decision: "once",
    });

    expect([seen.status, decided.status]).toEqual([403, 403]);
    expect(await listed(as("ann"))).toHaveLength(1);
  });

  test("of a tenant stays in it", async () => {
    const { as } = await aWorld();
    await as("ann").send("go");
    const { id: taskId } = await as("ann@acme").send("go");

    const inTenant = await listed(as("approver@acme"), "?owner=*");
    const everywhere = await listed(as("approver"), "?owner=*");
    const other = everywhere.find((one) => one.taskId !== taskId)!;
    const path = `/convoke/approvals/${other.id}:answer?owner=*`;

    expect(inTenant).toMatchObject([{ taskId, owner: '["acme","ann"]' }]);
    expect(everywhere).toHaveLength(2);
    expect((await as("approver@acme").fetch(path, { decision: "once" })).status).toBe(400);
  });
});

describe("an operator", () => {
  test("lists the approvals of all owners, and decides none", async () => {
    const { as, ran } = await aWorld();
    await as("ann").send("go");

    const [approval] = await listed(as("operator"), "?owner=*");
    const path = `/convoke/approvals/${approval!.id}:answer?owner=*`;
    const { status, body } = await as("operator").fetch(path, { decision: "once" });

    expect(status).toBe(403);
    expect(JSON.stringify(body)).toContain(
      "Forbidden: Insufficient permissions for operation 'decideApproval' of other owners",
    );
    expect(ran).toEqual([]);
  });

  test("lists and replays the pushes of all owners, within its tenant", async () => {
    const { as } = await aWorld();
    for (const token of ["ann", "ann@acme"]) {
      const { id: taskId } = await as(token).send("go");
      const pushNotificationConfig = { url: "http://127.0.0.1:9/hook" };
      await as(token).rpc("tasks/pushNotificationConfig/set", { taskId, pushNotificationConfig });
    }
    const owners = async (token: string, query: string): Promise<unknown> => {
      const { body } = await as(token).fetch(`/convoke/pushes?state=active${query}`);
      const pushes = body["pushes"] as readonly { readonly owner?: string }[];
      return pushes.map(({ owner = "" }) => owner).toSorted((a, b) => a.localeCompare(b));
    };

    expect(await owners("operator", "&owner=*")).toEqual(['["acme","ann"]', "ann"]);
    expect(await owners("operator@acme", "&owner=*")).toEqual(['["acme","ann"]']);
    expect(await owners("operator", "")).toEqual([]);
    expect(await owners("ann@acme", "")).toHaveLength(1);
    expect((await as("operator").fetch("/convoke/pushes:replay?owner=*", {})).status).toBe(200);
  });
});

verifies("v1-S56", "other callers do not act for all owners", async () => {
  const { as } = await aWorld();
  const requests = [
    ["/convoke/approvals", undefined],
    ["/convoke/approvals/x:answer", { decision: "once" }],
    ["/convoke/pushes", undefined],
    ["/convoke/pushes:replay", {}],
  ] as const;

  for (const [path, body] of requests) {
    expect((await as("ann").fetch(`${path}?owner=*`, body)).status).toBe(403);
    expect((await as("ann").fetch(`${path}?owner=ben`, body)).status).toBe(400);
  }
});
