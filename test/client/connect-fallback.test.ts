import { ClientError } from "@convoke/protocol";
import { type RunNotice, connect } from "@convoke/client";
import { describe, expect, test } from "vitest";
import {
  type Call,
  type FakeAgentScript,
  type Reply,
  events,
  failure,
  json,
  pagesV1,
  result,
  startFakeAgent,
} from "./fake-agent.ts";
import { verifies } from "../verifies.ts";

const GREETING = { message: { messageId: "m1", role: "ROLE_AGENT", parts: [{ text: "Hello" }] } };
const OLD_GREETING = {
  kind: "message",
  messageId: "m1",
  role: "agent",
  parts: [{ kind: "text", text: "Hello" }],
};
const CARD = "/.well-known/agent-card.json";

interface Offer {
  readonly url: string;
  readonly protocolBinding: string;
  readonly protocolVersion: string;
}

function at(url: string, protocolVersion = "1.0", protocolBinding = "JSONRPC"): Offer {
  return { url, protocolBinding, protocolVersion };
}

/** An agent whose card has the given interfaces, with a scripted response at each. */
function agentWith(
  supportedInterfaces: readonly Offer[],
  answers: Readonly<Record<string, (call: Call) => Reply>>,
) {
  const script: FakeAgentScript = {
    pages: pagesV1({ supportedInterfaces }),
    answer: (call, { path }) => answers[path]?.(call) ?? { status: 404, body: "nothing here" },
  };
  return startFakeAgent(script);
}

/** An address where no server listens. */
async function deadUrl(): Promise<string> {
  const agent = await startFakeAgent({});
  await agent.close();
  return agent.url;
}

describe("an interface that does not work", () => {
  verifies(["v1-C6"], "is skipped for the next, and the one that works is remembered", async () => {
    const dead = await deadUrl();
    const agent = await agentWith([at(dead), at("/none"), at("/rpc")], {
      "/rpc": (call) => result(call, GREETING),
    });
    const remote = await connect(agent.url, { allow: [new URL(dead).host] });

    expect((await remote.send("Ann")).text).toBe("Hello");
    expect(remote.url).toBe(`${agent.url}/rpc`);
    expect((await remote.send("Ann")).text).toBe("Hello");

    expect(agent.seen.map(({ path }) => path)).toEqual([CARD, "/none", "/rpc", "/rpc"]);
  });

  test("is skipped for the next by a stream too, before its first event", async () => {
    const agent = await agentWith([at("/none"), at("/rpc")], {
      "/rpc": (call) => events(call, [GREETING]),
    });
    const remote = await connect(agent.url);

    expect((await remote.stream("Ann").result).text).toBe("Hello");
    expect(remote.url).toBe(`${agent.url}/rpc`);
  });

  test.each([404, 405, 501])(
    "and responds with HTTP %d is skipped for the next",
    async (status) => {
      const agent = await agentWith([at("/odd"), at("/rpc")], {
        "/odd": () => ({ status, body: "<html><title>not here</title>" }),
        "/rpc": (call) => result(call, GREETING),
      });
      const remote = await connect(agent.url);

      expect((await remote.send("Ann")).text).toBe("Hello");
    },
  );

  test("of gRPC where only HTTP/1 is served is skipped for the next", async () => {
    const agent = await agentWith([at("/", "1.0", "GRPC"), at("/rpc")], {
      "/rpc": (call) => result(call, GREETING),
    });
    const remote = await connect(agent.url);
    expect(remote.binding).toBe("GRPC");

    expect((await remote.send("Ann")).text).toBe("Hello");
    expect(remote.binding).toBe("JSONRPC");
  });

  test("because the agent is unavailable is not skipped for another one at the same address", async () => {
    // Otherwise the interface that responds first after the outage would be kept, and 0.3 offers
    // less.
    const agent = await agentWith([at("/rpc"), at("/old", "0.3")], {
      "/rpc": (call) => result(call, GREETING),
    });
    const remote = await connect(agent.url, { retry: false });
    await agent.close();

    await expect(remote.get("t1")).rejects.toMatchObject({
      kind: "unreachable",
      message: expect.stringMatching(/^(?!none of)/) as string,
    });
    expect(remote.version).toBe("1.0");
  });

  test("is reported with all others if none works", async () => {
    const agent = await agentWith([at("/one"), at("/two", "1.0", "HTTP+JSON")], {});
    const remote = await connect(agent.url);

    const error: unknown = await remote.get("t1").catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(ClientError);
    expect(error).toMatchObject({
      kind: "no-interface",
      message:
        `none of the agent's 2 interfaces works: JSONRPC 1.0 at ${agent.url}/one: ` +
        `HTTP 404 Not Found: nothing here; HTTP+JSON 1.0 at ${agent.url}/two: HTTP 404 Not Found: not here`,
    });
  });

  test("that refers to a private address is not used, and the error says so", async () => {
    const inside = await startFakeAgent({ answer: (call) => result(call, GREETING) });
    const agent = await agentWith([at(inside.url)], {});
    const remote = await connect(agent.url);

    await expect(remote.send("Ann")).rejects.toMatchObject({
      kind: "refused",
      message: expect.stringContaining("is not a public address"),
    });
    expect(inside.seen).toEqual([]);
  });

  test("that refers to private addresses at every interface is rejected immediately, with the rule and how to lift it", async () => {
    const inside = await startFakeAgent({ answer: (call) => result(call, GREETING) });
    const { host } = new URL(inside.url);
    const offers = [
      at(inside.url),
      at(inside.url, "1.0", "HTTP+JSON"),
      at(inside.url, "1.0", "GRPC"),
    ];
    const agent = await agentWith(offers, {});
    const remote = await connect(agent.url);
    const notices: string[] = [];
    const onNotice = ({ kind }: RunNotice) => notices.push(kind);

    for (const attempt of [
      remote.send("Ann", { onNotice }),
      remote.stream("Ann", { onNotice }).result,
      remote.subscribe("t1", { onNotice }).result,
      remote.get("t1"),
    ]) {
      await expect(attempt).rejects.toMatchObject({
        kind: "refused",
        message: expect.stringContaining(`"${host}" in the option allow`),
      });
    }
    expect(notices).toEqual([]);
    expect(inside.seen).toEqual([]);

    const allowed = await connect(agent.url, { allow: [host] });
    expect((await allowed.send("Ann")).text).toBe("Hello");
  });
});

describe("an agent that may have started to work", () => {
  test.each([
    ["breaks the connection", { body: "{", end: "broken" }],
    ["answers 500", { status: 500 }],
    ["answers 502", { status: 502 }],
    ["sends an invalid response", { body: "<html>" }],
  ] satisfies [string, Reply][])("and %s is not called again elsewhere", async (_, reply) => {
    const agent = await agentWith([at("/rpc"), at("/again")], {
      "/rpc": () => reply,
      "/again": (call) => result(call, GREETING),
    });
    const remote = await connect(agent.url, { retry: false });

    await expect(remote.send("Ann", { reconnect: false })).rejects.toThrow();

    expect(agent.seen.map(({ path }) => path)).toEqual([CARD, "/rpc"]);
  });

  test("and reports a missing task or method later is not skipped", async () => {
    const agent = await agentWith([at("/rpc"), at("/again")], {
      "/rpc": (call) =>
        call.method === "SendMessage"
          ? result(call, GREETING)
          : failure(call, { code: -32601, message: "Method not found" }),
      "/again": (call) => result(call, GREETING),
    });
    const remote = await connect(agent.url);
    await remote.send("Ann");

    await expect(remote.get("t1")).rejects.toMatchObject({ reason: "MethodNotFound" });
    expect(agent.seen.map(({ path }) => path)).toEqual([CARD, "/rpc", "/rpc"]);
  });
});

describe("versions", () => {
  const refuse = (call: Call): Reply =>
    call.method === "SendMessage"
      ? failure(call, { code: -32009, message: "Version not supported" })
      : result(call, OLD_GREETING);
  const unknown = (call: Call): Reply =>
    call.method === "SendMessage"
      ? failure(call, { code: -32601, message: "Method not found" })
      : result(call, OLD_GREETING);

  describe.each([
    ["-32009", refuse],
    ["-32601", unknown],
  ] as const)("a URL that answers %s to 1.0", (_, answer) => {
    verifies(["v1-C14"], "is called in 0.3 if the card declares that too", async () => {
      const agent = await agentWith([at("/rpc"), at("/rpc", "0.3")], { "/rpc": answer });
      const remote = await connect(agent.url);

      expect((await remote.send("Ann")).text).toBe("Hello");
      expect(remote.version).toBe("0.3");
    });

    verifies(["v1-C14"], "is not called in 0.3 if the newest version is required", async () => {
      const agent = await agentWith([at("/rpc"), at("/rpc", "0.3")], { "/rpc": answer });
      const remote = await connect(agent.url, { version: "1.0", allowDowngrade: true });

      await expect(remote.send("Ann")).rejects.toMatchObject({ name: "RemoteError" });
      expect(remote.version).toBe("1.0");
    });

    verifies(
      ["v1-C14"],
      "is tried in 0.3 without a declaration on the card only if allowed",
      async () => {
        const agent = await agentWith([at("/rpc")], { "/rpc": answer });

        const strict = await connect(agent.url);
        await expect(strict.send("Ann")).rejects.toMatchObject({ name: "RemoteError" });
        const lenient = await connect(agent.url, { allowDowngrade: true });
        expect((await lenient.send("Ann")).text).toBe("Hello");
        expect(lenient.version).toBe("0.3");
      },
    );
  });

  verifies(["v1-C1"], "every request states its version", async () => {
    const agent = await agentWith([at("/rpc"), at("/rpc", "0.3")], { "/rpc": refuse });
    const remote = await connect(agent.url);
    await remote.send("Ann");

    expect(agent.seen.map(({ headers }) => headers["a2a-version"])).toEqual(["1.0", "1.0", "0.3"]);
  });
});

describe("a card that is passed as an object", () => {
  test("is called at its URL, resolved relative to the card's origin", async () => {
    const agent = await startFakeAgent({ answer: (call) => result(call, GREETING) });
    const whole = { name: "Given", supportedInterfaces: [at(agent.url)] };
    const relative = { name: "Given", supportedInterfaces: [at("/rpc")] };

    const remote = await connect(whole, { token: "secret" });
    expect((await remote.send("Ann")).text).toBe("Hello");
    expect(agent.last.headers["authorization"]).toBe("Bearer secret");
    const other = await connect(relative, { cardUrl: `${agent.url}/cards/one.json` });
    await other.send("Ann");
    expect(agent.last.path).toBe("/rpc");
    await expect(connect(relative)).rejects.toThrow("say in cardUrl where the card came from");
  });

  test("binds credentials to the card's origin, not to the URL on it", async () => {
    const agent = await startFakeAgent({ answer: (call) => result(call, GREETING) });
    const card = { name: "Given", supportedInterfaces: [at(agent.url)] };

    await expect(
      connect(card, { token: "secret", cardUrl: "https://agent.example/card.json" }),
    ).rejects.toMatchObject({ kind: "other-origin" });
    expect(agent.seen).toEqual([]);
  });
});

describe("discovery", () => {
  test("tries the path, the origin, and the legacy location of each", async () => {
    const agent = await startFakeAgent({
      pages: { "/.well-known/agent.json": pagesV1()[CARD]! },
    });

    expect((await connect(`${agent.url}/teams/one/`)).name).toBe("Greeter");
    expect(agent.seen.map(({ path }) => path)).toEqual([
      "/teams/one/.well-known/agent-card.json",
      "/teams/one/.well-known/agent.json",
      "/.well-known/agent-card.json",
      "/.well-known/agent.json",
    ]);
  });

  test("reports for every location what was there, and what to do", async () => {
    const agent = await startFakeAgent({
      pages: {
        [CARD]: () => ({ status: 401, headers: { "WWW-Authenticate": 'Bearer realm="x"' } }),
        "/.well-known/agent.json": () => json([]),
      },
    });

    await expect(connect(`${agent.url}/card.json`)).rejects.toMatchObject({
      kind: "no-card",
      message:
        `no agent card found: ${agent.url}/card.json answered 404 Not Found; ` +
        `${agent.url}${CARD} answered 401 Unauthorized (it asks for Bearer realm="x"); ` +
        `${agent.url}/.well-known/agent.json answered 200 with JSON that is not an object. ` +
        "It requires authentication: pass a token, or auth",
    });
  });
});
