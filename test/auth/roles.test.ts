import { type Caller, EXTENSIONS } from "@convoke/protocol";
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
  return { as, ran, log: agent.log };
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

  test("is named in the decision, also where it holds for the conversation", async () => {
    const { as } = await aWorld();
    const { id: taskId } = await as("ann").send("go");
    const [approval] = await listed(as("approver"), "?owner=*");

    const path = `/convoke/approvals/${approval!.id}:answer?owner=*`;
    await as("approver").fetch(path, { decision: "conversation" });

    const { history } = await until(as("ann"), taskId, "completed");
    expect(JSON.stringify(history)).toContain('"option":"conversation","decidedBy":"boss"');
  });

  test("is named by the server alone: a message that claims the decision of another is rejected", async () => {
    const { as } = await aWorld();

    const metadata = { [EXTENSIONS.approvals.uri]: { decidedBy: "boss" } };
    const sent = as("ann").send("go", { metadata });

    await expect(sent).rejects.toThrow(/decidedBy.* is set by the server/);
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

    expect(inTenant).toMatchObject([{ taskId, owner: "ann", tenant: "acme" }]);
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
      return ownersIn(body["pushes"]);
    };

    expect(await owners("operator", "&owner=*")).toEqual(["ann", "ann of acme"]);
    expect(await owners("operator@acme", "&owner=*")).toEqual(["ann of acme"]);
    expect(await owners("operator", "")).toEqual([]);
    expect(await owners("ann@acme", "")).toHaveLength(1);
    expect((await as("operator").fetch("/convoke/pushes:replay?owner=*", {})).status).toBe(200);
  });
});

describe("an operator, for the tasks of all owners,", () => {
  test("lists them with their owners, filtered and in pages, within its tenant", async () => {
    const { as } = await aWorld();
    const { id: first, contextId } = await as("ann").send("go");
    const { id: second } = await as("ann@acme").send("go");
    await as("ann").rpc("tasks/cancel", { id: first });
    const tasks = async (token: string, query: string): Promise<readonly Listed[]> => {
      const { status, body } = await as(token).fetch(`/convoke/tasks${query}`);
      expect([status, body]).toEqual([200, body]);
      return body["tasks"] as readonly Listed[];
    };
    const ids = async (token: string, query: string): Promise<readonly string[]> =>
      (await tasks(token, query)).map(({ id }) => id);

    expect(await tasks("operator", "?owner=*")).toMatchObject([
      { id: second, owner: "ann", tenant: "acme", status: { state: "input-required" } },
      { id: first, owner: "ann", contextId, status: { state: "canceled" } },
    ]);
    expect(await ids("operator@acme", "?owner=*")).toEqual([second]);
    expect(await ids("operator", "?owner=*&status=canceled")).toEqual([first]);
    expect(await ids("operator", "?owner=*&status=input-required")).toEqual([second]);
    expect(await ids("operator", `?owner=*&contextId=${contextId}`)).toEqual([first]);
    expect(await ids("operator", "")).toEqual([]);
    expect(await ids("ann", "?status=canceled")).toEqual([first]);
    expect((await as("operator").fetch("/convoke/tasks?status=no")).status).toBe(400);
    const page = await as("operator").fetch("/convoke/tasks?owner=*&pageSize=1");
    const next = `&pageToken=${String(page.body["nextPageToken"])}`;
    expect(ownersIn(page.body["tasks"])).toEqual(["ann of acme"]);
    expect(await ids("operator", `?owner=*&pageSize=1${next}`)).toEqual([first]);
  });

  test("reads each of them, which the audit log records", async () => {
    const { as, log } = await aWorld();
    const { id } = await as("ann").send("go");
    const inTenant = await as("ann@acme").send("go");
    const path = `/convoke/tasks/${id}`;

    const { body } = await as("operator").fetch(`${path}?owner=*&historyLength=0`);

    expect(body).toMatchObject({ owner: "ann", task: { id, status: { state: "input-required" } } });
    expect(body).not.toHaveProperty("task.history");
    expect((await as("operator@acme").fetch(`/convoke/tasks/${inTenant.id}?owner=*`)).status).toBe(
      200,
    );
    expect((await as("ann").fetch(path)).body).toMatchObject({ owner: "ann", task: { id } });
    const elevated = log.filter((line) => line.includes("access.elevated"));
    expect(elevated).toEqual([
      expect.stringContaining(`"path":"${path}"`) as string,
      expect.stringContaining(`"tenant":"acme"`) as string,
    ]);
    expect(elevated[0]).toContain('"operation":"getTask","owner":"ops"');
  });

  test("cannot tell a task of another tenant, or without asking for all owners, from no task", async () => {
    const { as } = await aWorld();
    const { id } = await as("ann").send("go");
    const answers = [
      [await as("operator@acme").fetch(`/convoke/tasks/${id}?owner=*`), id],
      [await as("operator").fetch(`/convoke/tasks/${id}`), id],
      [await as("operator").fetch("/convoke/tasks/unknown?owner=*"), "unknown"],
    ] as const;

    const shown = answers.map(([{ status, body }, taskId]) => [
      status,
      JSON.stringify(body).replaceAll(taskId, "<id>"),
    ]);

    expect(new Set(shown.map((one) => one.join(" "))).size).toBe(1);
    expect(shown[0]![0]).toBe(404);
  });
});

/** The owners of entries, with their tenants, in alphabetical order. */
function ownersIn(entries: unknown): readonly string[] {
  const all = entries as readonly { readonly owner: string; readonly tenant?: string }[];
  return all
    .map(({ owner, tenant }) => (tenant === undefined ? owner : `${owner} of ${tenant}`))
    .toSorted((a, b) => a.localeCompare(b));
}

verifies("v1-S56", "other callers do not act for all owners", async () => {
  const { as } = await aWorld();
  const requests = [
    ["/convoke/approvals", undefined],
    ["/convoke/approvals/x:answer", { decision: "once" }],
    ["/convoke/tasks", undefined],
    ["/convoke/tasks/x", undefined],
    ["/convoke/tasks:delete", { taskIds: ["x"] }],
    ["/convoke/erasures", { owner: "ben" }],
    ["/convoke/pushes", undefined],
    ["/convoke/pushes:replay", {}],
  ] as const;

  for (const [path, body] of requests) {
    expect((await as("ann").fetch(`${path}?owner=*`, body)).status).toBe(403);
    expect((await as("ann").fetch(`${path}?owner=ben`, body)).status).toBe(400);
  }
});
