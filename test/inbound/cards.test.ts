import { scriptedModel } from "@convoke/runtime/testing";
import { AgentLoop, type Tool, defineAgent, mount, tool } from "convoke";
import { buildAgentCard, buildAgentCardForAgent, registerAgent } from "convoke/compat";
import { afterEach, beforeEach, describe, expect, onTestFinished, vi } from "vitest";
import { readSettings } from "../../apps/convoke/src/host/settings.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";

const BASE = "https://agents.example.com";

/** Variables of the machine must not decide what a card says. */
const VARIABLES = ["PORT", "BIND_HOST", "PUBLIC_URL", "A2A_PROVIDER_ORG", "A2A_PROVIDER_URL"];

beforeEach(() => {
  for (const name of [...VARIABLES, "A2A_DOCS_URL", "CONVOKE_TOKEN"]) vi.stubEnv(name, undefined);
});
afterEach(() => vi.unstubAllEnvs());

describe("the card of the instance", () => {
  verifies("R81", "has the URL that is given", () => {
    expect(buildAgentCard(`${BASE}/`)).toMatchObject({ url: BASE });
  });

  verifies(["R81", "R125"], "has a URL from the environment, else that of port 3000", () => {
    const { url } = buildAgentCard();
    vi.stubEnv("PORT", "8080");
    vi.stubEnv("BIND_HOST", "::1");
    const bound = buildAgentCard().url;
    vi.stubEnv("PUBLIC_URL", `${BASE}/`);

    expect([url, bound, buildAgentCard().url]).toEqual([
      "http://127.0.0.1:3000",
      "http://[::1]:8080",
      BASE,
    ]);
  });

  verifies(["R83", "inbound-K6"], "lists every registered tool, in declared order", () => {
    const names = Array.from({ length: 60 }, (_, place) => `tool_${60 - place}`);
    register({ name: "Host", tools: names.map(aTool) });

    const { name, skills = [] } = buildAgentCard(BASE);

    expect(name).toBe("Host");
    expect(skills.map(({ id }) => id)).toEqual(names);
  });

  verifies(
    ["R81", "R83"],
    "is that of the agents that the process serves at the time",
    async () => {
      const named = (name: string) =>
        defineAgent({
          name,
          description: "Works.",
          model: scriptedModel([]),
          tools: [aTool(name)],
        });
      const first = await mount(named("dig"), { data: "memory" });
      const second = await mount(named("fill"), { data: "memory" });
      const both = buildAgentCard(BASE);
      await first.close();
      const one = buildAgentCard(BASE);
      await second.close();

      expect(both).toMatchObject({ name: "dig", skills: [{ id: "dig" }, { id: "fill" }] });
      expect(one).toMatchObject({ name: "fill", skills: [{ id: "fill" }] });
      expect(buildAgentCard(BASE)).toMatchObject({ name: "Convoke", skills: [] });
    },
  );

  verifies("R83", "gives tools readable names and one category each", () => {
    const names = ["list_github_prs", "invoke_remote_agent", "readFile", "web_search", "add"];
    register({ name: "Host", tools: names.map(aTool) });

    expect(buildAgentCard(BASE).skills).toMatchObject([
      { name: "List GitHub PRs", tags: ["code"], description: "Does list_github_prs." },
      { name: "Invoke Remote Agent", tags: ["agents"] },
      { name: "Read File", tags: ["files"] },
      { name: "Web Search", tags: ["search"] },
      { name: "Add", tags: ["general"] },
    ]);
  });

  verifies("inbound-K10", "claims neither streams nor notifications, which polling has not", () => {
    expect(buildAgentCard(BASE)).toMatchObject({
      capabilities: { streaming: false, pushNotifications: false, stateTransitionHistory: false },
      supportedProtocols: [{ protocol: "A2A", endpoint: `${BASE}/a2a/tasks/send` }],
    });
  });

  verifies("R127", "names the provider and the documentation of the environment", () => {
    vi.stubEnv("A2A_PROVIDER_ORG", "Acme");
    vi.stubEnv("A2A_PROVIDER_URL", "https://acme.example");
    vi.stubEnv("A2A_DOCS_URL", "not a URL");

    const card = buildAgentCard(BASE);

    expect(card).toMatchObject({ provider: { organization: "Acme", url: "https://acme.example" } });
    expect(card).not.toHaveProperty("documentationUrl");
  });
});

describe("the card of one agent", () => {
  const record = { id: "a1", name: "Ann", description: "Helps." };

  verifies("R82", "has its name and description, its persona and its skill bundles", () => {
    const db = {
      getPersona: (id: string) => (id === "a1" ? { archetype: "mentor" } : null),
      getAgentBundles: () => [{ name: "Research" }, { name: "Writing" }],
    };

    expect(buildAgentCardForAgent(record, BASE, db)).toMatchObject({
      name: "Ann",
      description: "Helps. | Archetype: mentor | Skills: Research, Writing",
      url: BASE,
    });
    expect(buildAgentCardForAgent(record, BASE).description).toBe("Helps.");
  });

  verifies(["R84", "inbound-K7"], "lists exactly the tools that a record permits", () => {
    register({ name: "Host", tools: ["one", "two", "three"].map(aTool) });
    const listed = (mcpToolPermissions: readonly string[] | null) =>
      buildAgentCardForAgent({ ...record, mcpToolPermissions }).skills?.map(({ id }) => id);

    expect(listed(null)).toEqual(["one", "two", "three"]);
    expect(listed(["three", "one", "unknown"])).toEqual(["one", "three"]);
    expect(listed([])).toEqual([]);
  });

  for (const mcpToolPermissions of [undefined, ["two"], []]) {
    const named = JSON.stringify(mcpToolPermissions) ?? "no list";
    verifies(
      ["R84", "inbound-K7"],
      `lists the tools that the agent has when it runs, for ${named}`,
      async () => {
        const model = scriptedModel(["Done."]);
        const tools = ["one", "two"].map(aTool);
        await using loop = new AgentLoop({
          name: "Ann",
          model,
          tools,
          ...(mcpToolPermissions && { mcpToolPermissions }),
        });

        await loop.invokeSync([{ kind: "text", text: "Go." }]);

        const offered = model.requests[0]?.tools.map(({ name }) => name);
        expect(offered).toEqual(mcpToolPermissions ?? ["one", "two"]);
        expect(buildAgentCardForAgent(loop).skills?.map(({ id }) => id)).toEqual(offered);
      },
    );
  }
});

describe("the card of a served agent", () => {
  const { card } = readSettings(
    {},
    {
      A2A_PROVIDER_ORG: "Acme",
      A2A_PROVIDER_URL: "https://acme.example",
      A2A_DOCS_URL: "https://acme.example/docs",
    },
  );
  const described = {
    provider: { organization: "Own", url: "https://own.example" },
    iconUrl: "https://own.example/icon.png",
  };
  const facts = { name: "Ann", description: "Helps.", run: async () => "done" };
  const own = useServer(defineAgent({ ...facts, ...described }), { card, data: "memory" });
  const plain = useServer(defineAgent(facts), { card, data: "memory" });

  verifies("R127", "names what its definition says, else what the environment says", async () => {
    const read = async (url: string) =>
      (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as object;

    expect(await read(own.url)).toMatchObject({
      ...described,
      documentationUrl: "https://acme.example/docs",
    });
    expect(await read(plain.url)).toMatchObject({
      provider: { organization: "Acme", url: "https://acme.example" },
      documentationUrl: "https://acme.example/docs",
    });
  });
});

/** Registers an agent until the end of the test. */
function register({
  name,
  tools,
}: {
  readonly name: string;
  readonly tools: readonly Tool[];
}): void {
  const model = scriptedModel([]);
  onTestFinished(registerAgent(defineAgent({ name, description: "Hosts.", model, tools })));
}

function aTool(name: string): Tool {
  return tool({ name, description: `Does ${name}.`, run: () => "done" });
}
