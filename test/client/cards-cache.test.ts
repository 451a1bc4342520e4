import { connect, discover } from "@convoke/client";
import { afterEach, describe, expect, test, vi } from "vitest";
import { conformanceAgent } from "../conformance/conformance-agent.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { startCardServer } from "./a-card-server.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Moves the clock of the cache but not timers. */
function later(ms: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
}

describe("a card", () => {
  verifies(["v1-C12"], "is requested once while it is fresh, and then with its ETag", async () => {
    const server = await startCardServer({ "cache-control": "max-age=60", etag: '"one"' });

    for (let count = 0; count < 3; count += 1) await connect(server.url);
    expect(server.asked).toHaveLength(1);
    later(61_000);
    expect((await connect(server.url)).name).toBe("First");
    expect(server.asked).toHaveLength(2);
    expect(server.asked[1]?.headers["if-none-match"]).toBe('"one"');
    await connect(server.url);
    expect(server.asked).toHaveLength(2);
  });

  verifies(["v1-C12"], "that changed replaces the previous one", async () => {
    const server = await startCardServer({ "cache-control": "no-cache", etag: '"one"' });

    expect((await connect(server.url)).name).toBe("First");
    server.card = { ...server.card, name: "Second" };
    expect((await connect(server.url)).name).toBe("First");
    server.headers = { "cache-control": "no-cache", etag: '"two"' };
    expect((await connect(server.url)).name).toBe("Second");
    expect(server.asked.map(({ headers }) => headers["if-none-match"])).toEqual([
      undefined,
      '"one"',
      '"one"',
    ]);
  });

  test.each([
    ["must not be cached", { "cache-control": "no-store, max-age=60", etag: '"one"' }, 3, 0],
    ["varies by everything", { "cache-control": "max-age=60", vary: "*" }, 3, 0],
    ["has no cache headers", {}, 3, 0],
    ["has a high Age", { "cache-control": "max-age=60", age: "60" }, 3, 0],
    ["has a date", { "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT" }, 3, 2],
    ["varies by the version", { "cache-control": 'max-age="60"', vary: "A2A-Version" }, 1, 0],
  ] as const)("that %s is cached accordingly", async (_, headers, requests, conditional) => {
    const server = await startCardServer(headers);

    for (let count = 0; count < 3; count += 1) {
      expect((await connect(server.url)).name).toBe("First");
    }

    expect(server.asked).toHaveLength(requests);
    const conditions = server.asked.filter(
      ({ headers: sent }) => sent["if-none-match"] ?? sent["if-modified-since"],
    );
    expect(conditions).toHaveLength(conditional);
  });

  test("is kept as long as Expires says", async () => {
    const server = await startCardServer({
      expires: new Date(Date.now() + 60_000).toUTCString(),
    });

    await connect(server.url);
    await connect(server.url);
    expect(server.asked).toHaveLength(1);
    later(61_000);
    await connect(server.url);
    expect(server.asked).toHaveLength(2);
  });

  test("is requested once for a hundred concurrent connects", async () => {
    const server = await startCardServer({});

    const remotes = await Promise.all(Array.from({ length: 100 }, () => connect(server.url)));

    expect(new Set(remotes.map(({ card }) => card)).size).toBe(100);
    expect(server.asked).toHaveLength(1);
  });

  test("whose request one of several callers aborts still reaches the others", async () => {
    const server = await startCardServer({});
    const controller = new AbortController();
    const impatient = connect(server.url, { signal: controller.signal });
    const patient = connect(server.url);

    controller.abort(new Error("enough"));

    await expect(impatient).rejects.toThrow("enough");
    expect((await patient).name).toBe("First");
    expect(server.asked).toHaveLength(1);
  });

  test("for one caller or version is not returned to another", async () => {
    const server = await startCardServer({ "cache-control": "max-age=60" });
    const own = () => "own";

    for (const options of [
      {},
      { token: "a" },
      { token: "b" },
      { auth: { token: own } },
      { auth: { apiKey: { in: "header", name: "X-Key", value: "a" } } },
      { version: "0.3" },
    ] as const) {
      const { card } = await discover(server.url, options);
      await discover(server.url, options);
      expect(card["name"]).toBe("First");
    }

    expect(server.asked).toHaveLength(6);
  });

  test("is requested again if caching is disabled", async () => {
    const server = await startCardServer({ "cache-control": "max-age=60" });

    await connect(server.url);
    await connect(server.url, { cache: false });

    expect(server.asked).toHaveLength(2);
  });

  test("is not changed for others by a caller that modifies it", async () => {
    const server = await startCardServer({ "cache-control": "max-age=60" });
    const mine = await connect(server.url);

    (mine.card as { name: string }).name = "Mine";

    expect((await connect(server.url)).name).toBe("First");
  });
});

test("of many cards the most recently used are kept", async () => {
  const server = await startCardServer({ "cache-control": "max-age=60" });
  const fetch = (async (url: string) => {
    const { pathname } = new URL(url);
    asked.push(pathname);
    return new Response(JSON.stringify({ name: pathname, url: "https://agents.test/" }), {
      headers: { "cache-control": "max-age=60" },
    });
  }) as typeof globalThis.fetch;
  const asked: string[] = [];
  const read = (name: number | string) => discover(`https://agents.test/${name}.json`, { fetch });

  await read("first");
  for (let name = 0; name < 255; name += 1) await read(name);
  await read("first");
  await read("last");
  await read("first");
  await read(0);

  expect(asked.filter((path) => path === "/first.json")).toHaveLength(1);
  expect(asked.filter((path) => path === "/0.json")).toHaveLength(2);
  expect(server.asked).toHaveLength(0);
});

describe("a server of our own", () => {
  const server = useServer(conformanceAgent());

  test("gets one request for its card per version", async () => {
    const seen: string[] = [];
    const fetch: typeof globalThis.fetch = async (...call) => {
      const response = await globalThis.fetch(...call);
      seen.push(`${response.status} ${new Headers(call[1]?.headers).get("a2a-version")}`);
      return response;
    };

    for (const version of ["1.0", "0.3", undefined] as const) {
      await connect(server.url, { version, fetch });
      await connect(server.url, { version, fetch });
    }

    expect(seen).toEqual(["200 1.0", "200 0.3"]);
  });
});
