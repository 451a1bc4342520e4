import { createJsonLogger } from "@convoke/engine";
import { type AgentServer, bearer, defineAgent, serve } from "convoke";
import { afterAll, beforeAll, expect, test } from "vitest";

const CALLERS = {
  ann: { owner: "ann", scopes: ["read"] },
  approver: { owner: "boss", scopes: ["convoke:approve"] },
  operator: { owner: "ops", scopes: ["convoke:operate"] },
  unscoped: { owner: "only" },
  "ann@acme": { owner: "ann", tenant: "acme", scopes: [] },
};

let server: AgentServer;

beforeAll(async () => {
  const poet = defineAgent({ name: "poet", description: "Writes.", run: () => "a poem" });
  const bard = defineAgent({ name: "bard", description: "Sings.", run: () => "a song" });
  server = await serve([poet, bard], {
    port: 0,
    data: "memory",
    logger: createJsonLogger("silent", () => undefined),
    auth: Object.entries(CALLERS).map(([token, caller]) => bearer(token, caller)),
    roles: { approversActForOthers: true },
    push: false,
  });
  await fetchAs("operator", "convoke/agents/bard:disable", "POST");
});

afterAll(() => server.close());

interface About {
  readonly version: string;
  readonly agents: readonly Readonly<Record<string, unknown>>[];
  readonly caller: object;
  readonly features: object;
}

const fetchAs = (token: string, path = "convoke/about", method = "GET"): Promise<Response> =>
  fetch(server.url + path, { method, headers: { authorization: `Bearer ${token}` } });

const aboutAs = async (token: string): Promise<About> =>
  (await (await fetchAs(token)).json()) as About;

test("every caller learns which agents the server has, where they are, and what is switched on", async () => {
  const { version, agents, features } = await aboutAs("ann");

  expect(version).toMatch(/^\d+\.\d+\.\d+/);
  expect(agents).toEqual([
    {
      id: "poet",
      name: "poet",
      description: "Writes.",
      version: expect.any(String),
      path: "/agents/poet",
      isEnabled: true,
      isDefault: true,
    },
    expect.objectContaining({ id: "bard", isEnabled: false, isDefault: false }),
  ]);
  expect(features).toEqual({
    agents: true,
    metrics: true,
    push: false,
    streaming: true,
  });
  const card = await fetch(
    `${server.url}${String(agents[0]!["path"]).slice(1)}/.well-known/agent-card.json`,
  );
  expect(card.status).toBe(200);
});

test("operators learn how busy the agents are", async () => {
  const { agents } = await aboutAs("operator");

  expect(agents).toMatchObject([
    { id: "poet", isEnabled: true, running: 0 },
    { id: "bard", isEnabled: false, running: 0 },
  ]);
});

test("callers learn who they are and which roles they have", async () => {
  const callers = await Promise.all(
    Object.keys(CALLERS).map(async (token) => (await aboutAs(token)).caller),
  );

  const none = { isOperator: false, readsAllOwners: false, isApprover: false };
  expect(callers).toEqual([
    { ...none, owner: "ann" },
    { ...none, owner: "boss", isApprover: true },
    { ...none, owner: "ops", isOperator: true, readsAllOwners: true },
    { ...none, owner: "only" },
    { ...none, owner: "ann", tenant: "acme" },
  ]);
});

test("it needs credentials, and is at the root only", async () => {
  expect((await fetch(`${server.url}convoke/about`)).status).toBe(401);
  expect((await fetchAs("ann", "agents/poet/convoke/about")).status).toBe(404);
});
