import { type Auth, type BindingName, connect } from "@convoke/client";
import { type ProtocolVersion, RemoteError } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { events, json, pagesV1, result, startFakeAgent } from "./fake-agent.ts";
import { conformanceAgent } from "../conformance/conformance-agent.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { KINDS, SECRET, tells } from "./auth-kinds.ts";

const GREETING = { message: { messageId: "m1", role: "ROLE_AGENT", parts: [{ text: "Hello" }] } };
const UNKNOWN = {
  status: 401,
  headers: { "WWW-Authenticate": 'Bearer realm="agents", error="invalid_token"' },
};

describe("credentials of each kind", () => {
  const EXPECTED: Readonly<Record<string, readonly [string, string]>> = {
    "a bearer token": ["authorization", `Bearer ${SECRET}`],
    "a token from a function": ["authorization", `Bearer ${SECRET}`],
    "a key in a header": ["x-api-key", SECRET],
    "a key in a cookie": ["cookie", `session=${SECRET}`],
    "a user name and a password": ["authorization", `Basic ${btoa(`ann:${SECRET}`)}`],
    "custom headers": ["x-signed-by", SECRET],
  };

  for (const [kind, auth] of KINDS.filter(([name]) => name in EXPECTED)) {
    verifies(["v03-C4"], `${kind} is sent with every request`, async () => {
      const agent = await startFakeAgent({
        pages: pagesV1(),
        answer: (call) => result(call, GREETING),
      });

      const remote = await connect(agent.url, { auth });
      await remote.send("Ann");

      const [name, value] = EXPECTED[kind] ?? ["", ""];
      expect(agent.seen.map(({ headers }) => headers[name])).toEqual([value, value]);
    });
  }

  test("a key in the query is sent with every request, and never appears in output", async () => {
    const value = `${SECRET} &=`;
    const auth: Auth = { apiKey: { in: "query", name: "key", value } };
    const agent = await startFakeAgent({
      pages: {
        [`/.well-known/agent-card.json?key=${encodeURIComponent(value).replaceAll("%20", "+")}`]:
          pagesV1()["/.well-known/agent-card.json"]!,
      },
      answer: (call) => result(call, GREETING),
    });

    const remote = await connect(agent.url, { auth, retry: false });
    await remote.send("Ann");

    expect(agent.seen).toHaveLength(2);
    for (const { path } of agent.seen) {
      expect(new URL(path, agent.url).searchParams.get("key")).toBe(value);
    }
    expect(remote.url).not.toContain("key");
    await agent.close();
    const error = await errorOf(remote.get("t1"));
    expect(tells(`${inspected(error)}`)).toBe(false);
  });

  test("what cannot be sent is rejected by name and not quoted", async () => {
    const bad = `${SECRET}\n`;
    for (const [auth, words] of [
      [{ bearer: bad }, "the token holds characters"],
      [{ apiKey: { in: "header", name: "X-Key", value: bad } }, "auth.apiKey.value holds"],
      [{ apiKey: { in: "cookie", name: "a", value: "b;c" } }, "auth.apiKey.value holds"],
      [{ apiKey: { in: "header", name: "X Key", value: "v" } }, 'auth.apiKey.name "X Key"'],
      [{ headers: { "X-Key": bad } }, 'auth.headers["X-Key"] holds'],
      [{ basic: { user: "a:b", password: "c" } }, "auth.basic.user must not hold a colon"],
      [{}, "auth must have one of bearer, token, apiKey, basic, headers"],
      [{ bearer: "x", origin: "agent.example" }, "auth.origin must be an origin such as https:"],
    ] as const) {
      const error = await errorOf(connect("http://127.0.0.1:1", { auth: auth as Auth }));

      expect(`${String(error)}`).toContain(words);
      expect(tells(inspected(error))).toBe(false);
    }
    await expect(
      connect("http://127.0.0.1:1", { token: "a", auth: { bearer: "b" } }),
    ).rejects.toThrow("token and auth are both given");
    await expect(connect("http://ann:pw@127.0.0.1:1")).rejects.toThrow(
      "the URL of 127.0.0.1:1 holds a user name or a password; leave them out and give auth: { basic }",
    );
  });
});

describe("a token that is no longer valid", () => {
  /** Accepts only the newest token. */
  async function anAgent(good: string, answer: "one" | "stream" = "one") {
    return startFakeAgent({
      pages: pagesV1(),
      answer: (call, { headers }) => {
        if (headers["authorization"] !== `Bearer ${good}`) return UNKNOWN;
        return answer === "one" ? result(call, GREETING) : events(call, [GREETING]);
      },
    });
  }

  test("is renewed once, and the call is repeated", async () => {
    const tokens = ["old", "new"];
    const agent = await anAgent("new");
    const remote = await connect(agent.url, { auth: { token: () => tokens.shift() ?? "none" } });

    expect((await remote.send("Ann")).text).toBe("Hello");
    expect((await remote.send("Ann")).text).toBe("Hello");
    expect(agent.seen.map(({ headers }) => headers["authorization"])).toEqual([
      "Bearer old",
      "Bearer old",
      "Bearer new",
      "Bearer new",
    ]);
  });

  test("is renewed for a stream too", async () => {
    const tokens = ["old", "new"];
    const agent = await anAgent("new", "stream");
    const remote = await connect(agent.url, { auth: { token: () => tokens.shift() ?? "none" } });

    expect((await remote.stream("Ann").result).text).toBe("Hello");
  });

  test("is renewed once for all calls that fail together", async () => {
    let asked = 0;
    const agent = await anAgent("token-2");
    const auth: Auth = {
      token: async () => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return `token-${(asked += 1)}`;
      },
    };
    const remote = await connect(agent.url, { auth });

    const answers = await Promise.all(Array.from({ length: 20 }, () => remote.send("Ann")));

    expect(answers.map(({ text }) => text)).toEqual(answers.map(() => "Hello"));
    expect(asked).toBe(2);
  });

  test("and has no valid successor is an error that says what is required", async () => {
    const agent = await anAgent("never");
    let asked = 0;
    const auth: Auth = { token: () => `${SECRET}-${(asked += 1)}` };
    const remote = await connect(agent.url, { auth });

    const error = await errorOf(remote.send("Ann"));

    expect(error).toBeInstanceOf(RemoteError);
    expect(error).toMatchObject({
      httpStatus: 401,
      reason: "Unauthenticated",
      message: 'HTTP 401 Unauthorized; it asks for Bearer realm="agents", error="invalid_token"',
    });
    expect(asked).toBe(2);
    expect(agent.seen).toHaveLength(1 + 2);
  });

  test("a function that fails is called again by the next call", async () => {
    const agent = await anAgent("good");
    const given: (() => string)[] = [() => "good", () => "good"];
    given.unshift(() => {
      throw new Error("the vault is closed");
    });
    const auth: Auth = { token: () => (given.shift() ?? (() => "good"))() };

    await expect(connect(agent.url, { auth })).rejects.toThrow("the vault is closed");
    expect((await connect(agent.url, { auth })).name).toBe("Greeter");
  });
});

describe.each([403, 200])("an agent that quotes credentials with HTTP %d", (status) => {
  test.each(KINDS)("does not make an error reveal %s", async (_, auth) => {
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: (__, { headers, path }) =>
        json(
          { error: { code: -32603, message: `who is ${JSON.stringify(headers)} at ${path}?` } },
          status,
        ),
    });
    // A key in the query is part of the path that the fake agent looks up.
    const card = pagesV1()["/.well-known/agent-card.json"]?.(agent.url).body ?? "";
    const remote = await connect(JSON.parse(card) as Record<string, unknown>, {
      auth,
      cardUrl: agent.url,
    });

    const error = await errorOf(remote.get("t1"));

    expect(error).toMatchObject({ httpStatus: status });
    expect(String(error)).toContain("(redacted)");
    expect(tells(inspected(error))).toBe(false);
  });
});

describe("our own server with a token", () => {
  const server = useServer(conformanceAgent(), { token: SECRET });
  const WAYS: readonly (readonly [BindingName, ProtocolVersion])[] = [
    ["jsonrpc", "0.3"],
    ["rest", "0.3"],
    ["grpc", "0.3"],
    ["jsonrpc", "1.0"],
    ["rest", "1.0"],
    ["grpc", "1.0"],
  ];

  describe.each(WAYS)("via %s in %s", (binding, version) => {
    const way = { bindings: [binding], version };

    verifies(["v03-C4"], "serves a caller with the token, also a renewed one", async () => {
      const tokens = ["guess", SECRET];
      for (const auth of [
        { bearer: SECRET },
        { token: () => tokens.shift() ?? "" },
      ] satisfies Auth[]) {
        const remote = await connect(server.url, { ...way, auth });

        expect((await remote.send("hello")).text).toBe("hello");
        expect((await remote.stream("count 3").result).text).toBe("1 2 3");
        remote.close();
      }
    });

    test("rejects a wrong token with the same error on every binding", async () => {
      const remote = await connect(server.url, { ...way, token: "guess-guess" });

      for (const error of [
        await errorOf(remote.get("t1")),
        await errorOf(remote.stream("hello").result),
      ]) {
        expect(error).toMatchObject({ reason: "Unauthenticated", httpStatus: 401, code: -32603 });
      }
      remote.close();
    });
  });
});

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** Everything that a log could print of an error. */
function inspected(error: unknown): string {
  const { message, stack, cause } = error as Error;
  return [
    message,
    stack,
    JSON.stringify(error),
    cause === undefined ? "" : inspected(cause),
  ].join();
}
