import {
  ExternalServiceError,
  NotFoundError,
  ValidationError,
  clearAgentCardCache,
  discoverAgent,
  fetchAgentCard,
} from "convoke/compat";
import { beforeEach, describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { LegacyAgent, legacyCard } from "./legacy-agent.suite.ts";
import { ManualClock } from "./manual-clock.suite.ts";

const MINUTE_MS = 60_000;

beforeEach(() => clearAgentCardCache());

describe("fetchAgentCard", () => {
  verifies("R85", "reads the well-known path", async () => {
    const agent = await LegacyAgent.start();

    const card = await fetchAgentCard(`${agent.url}/`);

    expect(card).toEqual(legacyCard(agent.url));
    expect(agent.story).toEqual(["GET /.well-known/agent-card.json"]);
  });

  verifies("R85", "makes no request for five minutes regardless of the headers", async () => {
    const agent = await LegacyAgent.start({
      card: () => ({ headers: { "cache-control": "no-store" }, body: legacyCard("http://a.test") }),
    });
    const clock = new ManualClock();
    const first = await fetchAgentCard(agent.url, { clock });

    clock.advance(2 * MINUTE_MS);
    expect(await fetchAgentCard(agent.url, { clock })).toEqual(first);
    clock.advance(3 * MINUTE_MS);
    await fetchAgentCard(`${agent.url}/.well-known/agent-card.json`, { clock });
    expect(agent.seen).toHaveLength(1);

    clock.advance(1);
    await fetchAgentCard(agent.url, { clock });
    expect(agent.seen).toHaveLength(2);
  });

  verifies("R85", "does not keep a card longer because its headers allow it", async () => {
    const agent = await LegacyAgent.start({
      card: () => ({
        headers: { "cache-control": "max-age=86400" },
        body: legacyCard("http://a.test"),
      }),
    });
    const clock = new ManualClock();

    await fetchAgentCard(agent.url, { clock });
    clock.advance(6 * MINUTE_MS);
    await fetchAgentCard(agent.url, { clock });

    expect(agent.seen).toHaveLength(2);
  });

  verifies("inbound-K13", "makes one request for concurrent callers", async () => {
    const agent = await LegacyAgent.start();

    const cards = await Promise.all(Array.from({ length: 20 }, () => fetchAgentCard(agent.url)));

    expect(new Set(cards.map(({ name }) => name))).toEqual(new Set(["Old Hand"]));
    expect(agent.seen).toHaveLength(1);
  });

  test("a caller that aborts does not affect those that still wait", async () => {
    const agent = await LegacyAgent.start();
    const leaving = new AbortController();

    const left = fetchAgentCard(agent.url, { signal: leaving.signal });
    const stayed = fetchAgentCard(agent.url);
    leaving.abort(new Error("changed my mind"));

    await expect(left).rejects.toThrow("changed my mind");
    expect((await stayed).name).toBe("Old Hand");
    expect(agent.seen).toHaveLength(1);
  });

  test("a card that was served to one caller is not returned to another", async () => {
    const agent = await LegacyAgent.start();

    await fetchAgentCard(agent.url, { token: "mine" });
    await fetchAgentCard(agent.url, { token: "yours" });
    await fetchAgentCard(agent.url);

    const tokens = agent.seen.map(({ headers }) => headers.authorization);
    expect(tokens).toEqual(["Bearer mine", "Bearer yours", undefined]);
  });

  verifies("R86", "throws ExternalServiceError with the status of a non-2xx response", async () => {
    const agent = await LegacyAgent.start({ card: () => ({ status: 503, body: "soon" }) });

    const error = await fetchAgentCard(agent.url).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(ExternalServiceError);
    expect(error).toMatchObject({
      status: 503,
      service: "A2A",
      message: `A2A: Failed to fetch Agent Card from ${agent.url}/.well-known/agent-card.json: HTTP 503 Service Unavailable`,
    });
  });

  for (const [what, body] of [
    ["a page", "<html>hello</html>"],
    ["a list", [1, 2]],
    ["nothing", ""],
  ] as const) {
    verifies("R86", `throws ExternalServiceError for ${what} instead of a card`, async () => {
      const agent = await LegacyAgent.start({ card: () => ({ body }) });

      await expect(fetchAgentCard(agent.url)).rejects.toThrow(ExternalServiceError);
    });
  }

  test("reports that the server is unreachable", async () => {
    await expect(fetchAgentCard("http://127.0.0.1:1")).rejects.toThrow(
      /^A2A: Failed to fetch Agent Card from .*ECONNREFUSED/,
    );
  });

  for (const [missing, card] of [
    ["version", { name: "A" }],
    ["name", { version: "1", name: "" }],
    ["name, version", { description: "neither" }],
  ] as const) {
    verifies(["R86", "seed-C23"], `names the field that a card lacks: ${missing}`, async () => {
      const agent = await LegacyAgent.start({ card: () => ({ body: card }) });

      const error = await fetchAgentCard(agent.url).catch((thrown: unknown) => thrown);

      expect(error).toBeInstanceOf(ValidationError);
      expect((error as Error).message).toContain(`(${missing})`);
      expect((error as ValidationError).context["fields"]).toEqual(missing.split(", "));
    });
  }

  verifies("seed-C23", "accepts a card without a version in lenient mode", async () => {
    const agent = await LegacyAgent.start({ card: () => ({ body: { name: "A", url: "/" } }) });

    expect(await fetchAgentCard(agent.url, { lenient: true })).toEqual({
      name: "A",
      url: "/",
      version: "",
    });
  });

  test("a card that lacks something is requested again, because it may be fixed", async () => {
    let card: object = { name: "A" };
    const agent = await LegacyAgent.start({ card: () => ({ body: card }) });
    await fetchAgentCard(agent.url, { lenient: true });

    card = { name: "A", version: "2" };

    expect(await fetchAgentCard(agent.url)).toEqual(card);
  });

  verifies("R110", "times out after ten seconds", async () => {
    const agent = await LegacyAgent.start({ card: () => ({ body: "never" }) });
    const clock = new ManualClock();

    const fetching = fetchAgentCard(agent.url, { clock });
    const error = clock.passing(10_000, fetching).catch((thrown: unknown) => thrown);

    expect(await error).toBeInstanceOf(ExternalServiceError);
    expect(await error).toMatchObject({
      message: expect.stringMatching(/no answer within 10000ms/),
    });
    expect(clock.slept).toEqual([10_000]);
  });

  for (const url of ["", "agent.example.com", "ftp://a.test", "http://me:secret@a.test"]) {
    test(`"${url}" is rejected by name`, async () => {
      const error = await fetchAgentCard(url).catch((thrown: unknown) => thrown);

      expect(error).toBeInstanceOf(ValidationError);
      expect((error as Error).message).toMatch(/^baseUrl /);
      expect((error as Error).message).not.toContain("secret");
    });
  }
});

describe("discoverAgent", () => {
  const own = useServer();

  verifies("R87", "returns the card of an agent", async () => {
    expect(await discoverAgent(own.url)).toMatchObject({ name: "Convoke Demo" });
  });

  for (const [what, habits] of [
    ["a missing card", { card: () => ({ status: 404, body: "no" }) }],
    ["a card without a version", { card: () => ({ body: { name: "A" } }) }],
    ["something that is not a card", { card: () => ({ body: "<html>" }) }],
  ] as const) {
    verifies("R87", `returns null for ${what}`, async () => {
      const agent = await LegacyAgent.start(habits);

      expect(await discoverAgent(agent.url)).toBeNull();
    });
  }

  verifies(
    "R87",
    "returns null for an invalid URL, a closed port and an aborted caller",
    async () => {
      expect(await discoverAgent("not a url")).toBeNull();
      expect(await discoverAgent("http://127.0.0.1:1")).toBeNull();
      expect(await discoverAgent(own.url, { signal: AbortSignal.abort() })).toBeNull();
      expect(await discoverAgent(own.url, { timeoutMs: -1 })).toBeNull();
    },
  );
});

describe("clearAgentCardCache", () => {
  verifies("R88", "makes the next fetch request the card again", async () => {
    const agent = await LegacyAgent.start();
    await fetchAgentCard(agent.url);

    clearAgentCardCache();
    await fetchAgentCard(agent.url);

    expect(agent.seen).toHaveLength(2);
  });

  verifies("R88", "a card that was being fetched is not cached", async () => {
    const agent = await LegacyAgent.start();
    const onItsWay = fetchAgentCard(agent.url);

    clearAgentCardCache();
    await onItsWay;
    await fetchAgentCard(agent.url);

    expect(agent.seen).toHaveLength(2);
  });
});

test("the errors have the status that a server should respond with", () => {
  expect(new NotFoundError("Agent with default project")).toMatchObject({
    message: "Agent with default project not found",
    code: "NOT_FOUND",
    statusCode: 404,
  });
  expect(new NotFoundError("Agent", "a1").message).toBe("Agent a1 not found");
  expect(new ValidationError("x")).toMatchObject({ code: "VALIDATION_ERROR", statusCode: 400 });
  expect(new ExternalServiceError("A2A", "x")).toMatchObject({
    message: "A2A: x",
    code: "EXTERNAL_SERVICE_ERROR",
    statusCode: 502,
  });
});
