import { bearer } from "convoke";
import { expect, test } from "vitest";
import { aWordAgent, served } from "./a-word-agent.ts";

interface AgentList {
  readonly agents: readonly Readonly<Record<string, unknown>>[];
  readonly default: string;
  readonly nextPageToken?: string;
}

async function listOf(url: string, query = ""): Promise<AgentList> {
  const response = await fetch(`${url}.well-known/agents.json${query}`);
  expect(response.status).toBe(200);
  return (await response.json()) as AgentList;
}

test("a host lists its agents with the skills of their cards, and those at other addresses", async () => {
  const { url } = await served([aWordAgent("Poet"), aWordAgent("Bard")], {
    // The list is as public as cards are.
    auth: [bearer("ann", { owner: "ann" })],
    remoteAgents: {
      translator: "https://translator.example.com",
      checker: { url: "https://checker.example.com/a2a", name: "Checker", description: "Checks." },
    },
  });

  const { agents, ...rest } = await listOf(url);

  expect(rest).toEqual({ default: "poet" });
  expect(agents.map(({ id }) => id)).toEqual(["poet", "bard", "translator", "checker"]);
  expect(agents[1]).toEqual({
    id: "bard",
    name: "Bard",
    description: "Bard works with words.",
    url: `${url}agents/bard`,
    cardUrl: `${url}agents/bard/.well-known/agent-card.json`,
    skills: [
      { id: "rhyme", name: "Find rhymes", description: "Finds rhymes.", tags: ["Poetry"] },
      { id: "translate", name: "Translate", description: "English to French.", tags: ["words"] },
    ],
  });
  expect(agents.slice(2)).toEqual([
    { id: "translator", url: "https://translator.example.com" },
    {
      id: "checker",
      url: "https://checker.example.com/a2a",
      name: "Checker",
      description: "Checks.",
    },
  ]);
  expect((await fetch(`${url}agents/translator`)).status).toBe(404);
});

test("a long list has pages, and each agent is on one of them", async () => {
  const ids = Array.from({ length: 250 }, (_, n) => `remote-${n}`);
  const remoteAgents = Object.fromEntries(ids.map((id) => [id, `https://${id}.example.com`]));
  const { url } = await served(aWordAgent("Poet"), { remoteAgents });
  const listed: unknown[] = [];
  const sizes: number[] = [];

  for (let token: string | undefined = ""; token !== undefined;) {
    const page: AgentList = await listOf(url, token === "" ? "" : `?pageToken=${token}`);
    listed.push(...page.agents.map(({ id }) => id));
    sizes.push(page.agents.length);
    token = page.nextPageToken;
  }

  expect(sizes).toEqual([100, 100, 51]);
  expect(listed).toEqual(["poet", ...ids]);
  const wrong = await fetch(`${url}.well-known/agents.json?pageToken=nothing`);
  expect(wrong.status).toBe(400);
  expect(await wrong.text()).toContain("pageToken is not from this list");
});

test.each([
  [{ "no id": "https://a.example" }, /^remoteAgents\.no id: the id of an agent must be/],
  [{ a: "ftp://a.example" }, /^remoteAgents\.a: url must be an http or https address/],
  [{ a: "https://user:secret@a.example" }, /without a user, a password or a query/],
  [{ a: "https://a.example/?key=secret" }, /without a user, a password or a query/],
  [{ a: { url: "https://a.example", name: 5 } }, /^remoteAgents\.a: name must be a text/],
  [
    { a: { url: "https://a.example", token: "x" } },
    /listed and not called, so it has no field "token"/,
  ],
  [{ poet: "https://a.example" }, /^remoteAgents\.poet: an agent that is served here has this id/],
])("a host with the remote agents %j does not start", async (remoteAgents, problem) => {
  const starting = served(aWordAgent("Poet"), { remoteAgents: remoteAgents as never });

  await expect(starting).rejects.toThrow(problem);
});

test("a server with the option of the removed registry does not start", async () => {
  const starting = served(aWordAgent("Poet"), { registry: true } as never);

  await expect(starting).rejects.toThrow(
    /^registry: the registry of agents was removed: name agents/,
  );
});
