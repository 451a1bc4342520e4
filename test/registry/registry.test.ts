import type { AgentServer } from "convoke";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { type Directory, serveAgent, serveDirectory } from "./a-directory.ts";

let directory: Directory;
let poet: AgentServer;
let bard: AgentServer;

beforeAll(async () => {
  directory = await serveDirectory({ allow: ["127.0.0.1"], maxEntriesPerOwner: 2 });
  poet = await serveAgent("Poet");
  bard = await serveAgent("Bard");
});

afterAll(async () => {
  await Promise.all([directory, poet, bard].map((one) => one.close()));
});

const names = (entries: readonly { readonly name: string }[]): readonly string[] =>
  entries.map(({ name }) => name).toSorted();

describe("registering", () => {
  test("an entry has what the server has read on the card itself", async () => {
    const entry = await directory.register("ann", poet.url, { tags: ["ours"] });

    expect(entry).toMatchObject({
      url: poet.url,
      cardUrl: `${poet.url}.well-known/agent-card.json`,
      name: "Poet",
      description: "Poet works with words.",
      tags: ["ours"],
      skills: [{ id: "rhyme", name: "Find rhymes", tags: ["poetry"] }, { id: "translate" }],
      state: "active",
      health: { state: "up", checks: 1, answered: 1, failures: 0 },
      calls: { succeeded: 0, failed: 0 },
      isOwn: true,
    });
    expect(JSON.stringify(entry)).not.toContain("nextCheckAt");
  });

  test("registering again changes the entry of the caller, and that of no other", async () => {
    const first = await directory.register("ann", poet.url);
    const again = await directory.register("ann", poet.url.slice(0, -1), { name: "Our poet" });
    const other = await directory.register("bob", poet.url);

    expect(again).toMatchObject({
      id: first.id,
      name: "Our poet",
      tags: [],
      health: { checks: 3 },
    });
    expect(other.id).not.toBe(first.id);
    expect(other.name).toBe("Poet");
  });

  test.each([
    [{ url: "poet.example" }, "url must be the base URL of an agent"],
    [{ url: "https://poet.example/?key=1" }, "without a query"],
    [{ url: "https://poet.example/", name: " " }, "name must be a text of 1 to 200 characters"],
    [{ url: "https://poet.example/", tags: [1] }, "tags must be at most 20 texts"],
  ])("%j is rejected with 400", async (body, problem) => {
    const answer = await directory.ask("ann", "", { body });

    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).toContain(problem);
  });

  test("an address without a card is rejected with 400", async () => {
    const { status, body } = await directory.ask("ann", "", {
      body: { url: `${poet.url}nothing` },
    });

    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain("has no agent card that can be used");
  });

  test.each(["http://10.0.0.1/", "http://0x0a.1/", "http://[::1]/", "http://169.254.169.254/"])(
    "the private address %s is rejected with 400 unless the operator allows it",
    async (url) => {
      const { status, body } = await directory.ask("ann", "", { body: { url } });

      expect(status).toBe(400);
      expect(JSON.stringify(body)).toContain("is not a public address");
    },
  );

  verifies("G14", "a caller has a limited number of agents in the registry", async () => {
    await directory.register("bob", poet.url);
    await directory.register("bob", bard.url);
    const { status, body } = await directory.ask("bob", "", {
      body: { url: `${bard.url}agents/bard` },
    });

    expect(status).toBe(429);
    expect(JSON.stringify(body)).toContain("you have 2 agents in this registry");
  });
});

describe("searching", () => {
  let shared: Directory;

  beforeAll(async () => {
    shared = await serveDirectory();
    await shared.register("ann", poet.url, { tags: ["Fast"] });
    await shared.register("bob", poet.url);
    await shared.register("bob", bard.url);
  });

  afterAll(() => shared.close());

  const search = async (query: string): Promise<readonly string[]> =>
    names(await shared.search("ann", `?${query}`));

  test("every caller of the tenant finds every agent, and sees which are its own", async () => {
    const seen = await shared.search("bob");

    expect(names(seen)).toEqual(["Bard", "Poet", "Poet"]);
    expect(seen.filter((entry) => "isOwn" in entry && entry.isOwn === true)).toHaveLength(2);
    expect(JSON.stringify(seen)).not.toContain("ann");
  });

  test("skills, tags and words are filters that all must match", async () => {
    expect(await search("skill=RHYME")).toEqual(["Bard", "Poet", "Poet"]);
    expect(await search("skill=find%20rhymes&tag=fast")).toEqual(["Poet"]);
    expect(await search("tag=poetry&tag=words&text=bard%20french")).toEqual(["Bard"]);
    expect(await search("skill=cook")).toEqual([]);
    expect(await search("text=poet%20cooking")).toEqual([]);
    expect(await search("state=inactive")).toEqual([]);
    expect((await shared.ask("ann", "?state=gone")).status).toBe(400);
  });

  test("pages have every entry once", async () => {
    const ids: string[] = [];
    for (let token = ""; ;) {
      const { body } = await shared.ask("ann", `?pageSize=2&pageToken=${token}`);
      const agents = body["agents"] as readonly { readonly id: string }[];
      expect(agents.length).toBeLessThanOrEqual(2);
      ids.push(...agents.map(({ id }) => id));
      token = (body["nextPageToken"] as string | undefined) ?? "";
      if (token === "") break;
    }

    const all = await shared.search("ann");
    expect(ids).toEqual(all.map(({ id }) => id));
  });
});

describe("entries and their owners", () => {
  const changes = (id: string) =>
    [
      [`/${id}:heartbeat`, { body: {} }],
      [`/${id}`, { method: "DELETE" }],
    ] as const;

  verifies("G13", "only the owner or an operator changes an entry", async () => {
    const { id } = await directory.register("ann", poet.url);

    for (const [path, init] of changes(id)) {
      expect((await directory.ask("bob", path, init)).status, path).toBe(404);
      expect((await directory.ask("bob", `${path}?owner=*`, init)).status, path).toBe(403);
      expect((await directory.ask("olga", path, init)).status, path).toBe(404);
    }
    expect((await directory.ask("bob", `/${id}`)).status).toBe(200);
    expect((await directory.ask("olga", `/${id}?owner=*`)).body).toMatchObject({ owner: "ann" });
    expect((await directory.ask("ann", `/${id}:heartbeat`, { body: {} })).status).toBe(200);
    expect((await directory.ask("olga", `/${id}?owner=*`, { method: "DELETE" })).status).toBe(200);
    expect((await directory.ask("ann", `/${id}`)).status).toBe(404);
  });

  verifies("G13", "an entry of another tenant is like one that does not exist", async () => {
    const { id } = await directory.register("ann", poet.url);
    const nothing = "01900000-0000-4000-8000-000000000000";
    const paths = [
      ...changes(id),
      [`/${id}`, {}],
      [`/${id}:report`, { body: { outcome: "failed" } }],
    ] as const;

    expect(await directory.search("ann@acme")).toEqual([]);
    for (const [path, init] of paths) {
      const foreign = await directory.ask("ann@acme", path, init);
      expect(foreign, path).toEqual(
        await directory.ask("ann@acme", path.replace(id, nothing), init),
      );
      expect(foreign.status).toBe(404);
    }
  });

  test("a heartbeat can say how many tasks the agent works on", async () => {
    const { id } = await directory.register("ann", poet.url);

    const beat = await directory.ask("ann", `/${id}:heartbeat`, { body: { openTasks: 3 } });
    const wrong = await directory.ask("ann", `/${id}:heartbeat`, { body: { openTasks: -1 } });

    expect(beat.body).toMatchObject({ id, openTasks: 3 });
    expect(wrong.status).toBe(400);
  });

  test("callers report how calls ended; the owner cannot, and no caller counts for much", async () => {
    const { id } = await directory.register("ann", poet.url);
    const report = (token: "ann" | "bob" | "olga", outcome: string) =>
      directory.ask(token, `/${id}:report`, { body: { outcome } });

    expect((await report("ann", "succeeded")).status).toBe(403);
    expect((await report("bob", "perfect")).status).toBe(400);
    for (let sent = 0; sent < 30; sent++) await report("bob", "failed");
    const { body } = await report("olga", "succeeded");

    const { succeeded, failed } = body["calls"] as Record<string, number>;
    expect(succeeded).toBe(1);
    expect(failed).toBeGreaterThan(0);
    expect(failed).toBeLessThanOrEqual(20);
  });
});

test("a server without a registry has nothing there, and a path that has no such method says which it has", async () => {
  await using without = await serveDirectory(false);

  expect((await without.ask("ann")).status).toBe(404);
  expect((await directory.ask("ann", "", { method: "DELETE" })).status).toBe(405);
});
