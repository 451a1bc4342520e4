import { type FindAgentsOptions, findAgents } from "convoke";
import { describe, expect, test } from "vitest";
import { type Reply, startFakeAgent } from "../client/fake-agent.ts";
import { aWordAgent, served } from "./a-word-agent.ts";

const LIST = "/.well-known/agents.json";

const json = (value: unknown): Reply => ({
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(value),
});

const CARD = {
  name: "Cook",
  description: "Cooks.",
  skills: [{ id: "boil", name: "Boil", description: "Boils eggs.", tags: ["kitchen"] }],
};

/** The ids of the agents that are found. */
async function idsOf(...search: Parameters<typeof findAgents>): Promise<readonly string[]> {
  return (await findAgents(...search)).agents.map(({ id }) => id);
}

test("skills, tags and words all must match, whatever their case", async () => {
  const { url } = await served([aWordAgent("Poet"), aWordAgent("Bard")]);

  expect(await idsOf(url)).toEqual(["poet", "bard"]);
  expect(await idsOf(url, { skill: "RHYME" })).toEqual(["poet", "bard"]);
  expect(await idsOf(url, { skill: "find rhymes", text: "bard french" })).toEqual(["bard"]);
  expect(await idsOf(`${url}.well-known/agents.json`, { tags: ["poetry", "words"] })).toHaveLength(
    2,
  );
  expect(await idsOf(url, { tags: ["poetry", "cooking"] })).toEqual([]);
  expect(await idsOf(url, { skill: "cook" })).toEqual([]);
  expect(await idsOf(url, { text: "poet cooking" })).toEqual([]);
});

test("of agents at other addresses the cards are searched, if they may be reached", async () => {
  const poet = await served(aWordAgent("Poet"));
  const remoteAgents = { poet: poet.url, bard: { url: poet.url, name: "Our bard" } };
  const { url } = await served(aWordAgent("Hub"), { remoteAgents });
  const allow = [new URL(poet.url).host];

  const found = await findAgents(url, { skill: "rhyme" }, { allow });
  const refused = await findAgents(url, { skill: "rhyme" });

  expect(found.unreadable).toEqual([]);
  expect(found.agents).toMatchObject([
    { id: "hub" },
    { id: "poet", name: "Poet", description: "Poet works with words.", url: poet.url },
    { id: "bard", name: "Our bard", skills: [{ id: "rhyme" }, { id: "translate" }] },
  ]);
  // The address comes from the network, and this one is not public.
  expect(refused.agents.map(({ id }) => id)).toEqual(["hub"]);
  expect(refused.unreadable).toMatchObject([{ url: poet.url }, { url: poet.url }]);
  expect(refused.unreadable[0]!.error.message).toContain("127.0.0.1");
  expect(await idsOf(url)).toEqual(["hub", "poet", "bard"]);
});

test("cards on the origin of the host are read with its credentials, and those elsewhere without", async () => {
  const other = await startFakeAgent({ pages: { "/card.json": () => json(CARD) } });
  const host = await startFakeAgent({
    pages: {
      [LIST]: (origin) =>
        json({
          agents: [
            { id: "own", url: origin, cardUrl: `${origin}/own.json` },
            { id: "other", url: other.url, cardUrl: `${other.url}/card.json` },
          ],
        }),
      "/own.json": () => json(CARD),
    },
  });
  const options: FindAgentsOptions = { token: "secret", allow: ["127.0.0.1"] };

  expect(await idsOf(host.url, { skill: "boil", tags: ["Kitchen"] }, options)).toEqual([
    "own",
    "other",
  ]);

  const sent = host.seen.map(({ headers }) => headers["authorization"]);
  expect(sent).toEqual(["Bearer secret", "Bearer secret"]);
  expect(other.seen.map(({ headers }) => headers["authorization"])).toEqual([undefined]);
});

describe("a host that cannot be searched is named with the reason", () => {
  test.each<[string, Reply | undefined, string, FindAgentsOptions?]>([
    [
      "has no list",
      undefined,
      "HOST lists no agents: there is nothing at HOST/.well-known/agents.json",
    ],
    [
      "fails",
      { status: 500, body: "oops" },
      "HOST answered with HTTP 500 instead of its list of agents",
    ],
    ["sends no JSON", { body: "<html>" }, "the answer of the server at HOST is no list of agents"],
    [
      "sends another document",
      json({ agents: {} }),
      "the answer of the server at HOST is no list of agents",
    ],
    ["sends too much", { body: "x".repeat(5_000_000) }, "is larger than 4194304 bytes"],
    ["does not answer", { end: "never" }, "HOST did not answer within 300 ms", { timeoutMs: 300 }],
  ])("because it %s", async (_, reply, problem, options = {}) => {
    const pages = reply && { [LIST]: () => reply };
    const { url } = await startFakeAgent({ ...(pages && { pages }) });

    const error: unknown = await findAgents(url, {}, options).catch((thrown: unknown) => thrown);

    expect((error as Error).message).toContain(problem.replaceAll("HOST", url));
  });

  test("because it is down", async () => {
    const host = await startFakeAgent({});
    await host.close();

    await expect(findAgents(host.url)).rejects.toThrow(new URL(host.url).host);
  });

  test("because its list never ends", async () => {
    let page = 0;
    const pages = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [
        n === 0 ? LIST : `${LIST}?pageToken=${n}`,
        () => json({ agents: [], nextPageToken: String(++page) }),
      ]),
    );
    const { url } = await startFakeAgent({ pages });

    await expect(findAgents(url)).rejects.toThrow(`${url} lists its agents on more than 20 pages`);
  });
});

test("entries that are no agents are left out, and long texts are shortened", async () => {
  const long = "x".repeat(2000);
  const skill = { id: long, description: long, tags: [long, 5] };
  const { url } = await startFakeAgent({
    pages: {
      [LIST]: () =>
        json({
          agents: [
            "poet",
            { id: "no-url" },
            { id: "file", url: "file:///etc/passwd" },
            { id: "login", url: "https://user:secret@a.example" },
            { id: "real", url: "https://a.example", name: long, skills: Array(300).fill(skill) },
          ],
        }),
    },
  });

  const { agents } = await findAgents(url);

  expect(agents.map(({ id }) => id)).toEqual(["real"]);
  expect(agents[0]).toMatchObject({ name: "x".repeat(200), description: "" });
  expect(agents[0]!.skills).toHaveLength(200);
  expect(agents[0]!.skills[0]).toEqual({
    id: "x".repeat(200),
    name: "x".repeat(200),
    description: "x".repeat(1000),
    tags: ["x".repeat(200)],
  });
});

test("a search reads a limited number of cards, and says of which agents it read none", async () => {
  const agents = Array.from({ length: 120 }, (_, n) => n);
  const { url, seen } = await startFakeAgent({
    pages: {
      [LIST]: (origin) =>
        json({ agents: agents.map((n) => ({ id: `a${n}`, url: `${origin}/${n}/card.json` })) }),
      ...Object.fromEntries(agents.map((n) => [`/${n}/card.json`, () => json(CARD)])),
    },
  });

  const found = await findAgents(url, { skill: "boil" });

  expect(found.agents).toHaveLength(100);
  expect(found.unreadable).toHaveLength(20);
  expect(found.unreadable[0]!.error.message).toContain("a search reads 100 cards");
  expect(seen).toHaveLength(101);
});
