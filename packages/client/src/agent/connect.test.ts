import { expect, test } from "vitest";
import { connect } from "./connect.ts";
import {
  json,
  pagesV03,
  pagesV1,
  result,
  startFakeAgent,
} from "../../../../test/client/fake-agent.ts";

const GREETING = { message: { messageId: "m1", role: "ROLE_AGENT", parts: [{ text: "Hello" }] } };

test("a 1.0 card selects its JSON-RPC interface", async () => {
  const agent = await startFakeAgent({ pages: pagesV1() });

  const remote = await connect(agent.url);

  expect(remote).toMatchObject({ name: "Greeter", url: `${agent.url}/`, version: "1.0" });
  expect(remote.card).toMatchObject({ version: "2.1.0" });
  expect(agent.last.headers["a2a-version"]).toBe("1.0");
});

test("a legacy card at the legacy path selects its url", async () => {
  const card = pagesV03()["/.well-known/agent-card.json"];
  const agent = await startFakeAgent({ pages: { "/.well-known/agent.json": card! } });

  const remote = await connect(`${agent.url}/`);

  expect(remote).toMatchObject({ name: "Old Greeter", url: `${agent.url}/`, version: "0.3" });
});

test("a URL that ends in .json is the card itself", async () => {
  const card = pagesV1()["/.well-known/agent-card.json"];
  const agent = await startFakeAgent({ pages: { "/cards/greeter.json": card! } });

  const remote = await connect(`${agent.url}/cards/greeter.json`);

  expect(remote.name).toBe("Greeter");
  expect(agent.seen.map(({ path }) => path)).toEqual(["/cards/greeter.json"]);
});

test("an agent below a path has its card below that path", async () => {
  const card = pagesV1()["/.well-known/agent-card.json"];
  const path = "/agents/greeter/.well-known/agent-card.json";
  const agent = await startFakeAgent({ pages: { [path]: card! } });

  expect((await connect(`${agent.url}/agents/greeter/`)).name).toBe("Greeter");
});

test("a name that a host of several agents does not have is an error, and leads to no other agent", async () => {
  const card = pagesV1()["/.well-known/agent-card.json"]!;
  const list = { body: JSON.stringify({ agents: [{ id: "editor" }, { id: "poet" }] }) };
  const agent = await startFakeAgent({
    pages: { "/.well-known/agent-card.json": card, "/.well-known/agents.json": () => list },
  });

  await expect(connect(`${agent.url}/agents/poat`, { token: "t" })).rejects.toMatchObject({
    kind: "no-card",
    message: expect.stringMatching(
      /\/agents\/poat\/\.well-known\/agent-card\.json answered 404.*\. The host has no agent poat; it has editor, poet$/,
    ),
  });
  expect(agent.seen.map(({ path }) => path)).not.toContain("/.well-known/agent-card.json");
});

test("the agent at the root answers for another path, and the caller receives a notice", async () => {
  const agent = await startFakeAgent({
    pages: { "/.well-known/agent-card.json": pagesV1()["/.well-known/agent-card.json"]! },
  });
  const notices: unknown[] = [];

  await connect(`${agent.url}/nope`, { onNotice: (notice) => notices.push(notice) });
  await connect(agent.url, { onNotice: (notice) => notices.push(notice) });

  const cardUrl = `${agent.url}/.well-known/agent-card.json`;
  const message = `there is no agent card at ${agent.url}/nope; using the agent whose card is at ${cardUrl}`;
  expect(notices).toEqual([{ kind: "another-path", cardUrl, message }]);
});

test("if there is no card the error names every URL and its response", async () => {
  const agent = await startFakeAgent({
    pages: { "/.well-known/agent.json": () => ({ body: "<html>" }) },
  });

  await expect(connect(agent.url, { cache: false })).rejects.toMatchObject({
    kind: "no-card",
    message:
      `no agent card found: ${agent.url}/.well-known/agent-card.json answered 404 Not Found; ` +
      `${agent.url}/.well-known/agent.json answered 200 with something that is not JSON`,
  });
});

test("a URL without a server is named in the error", async () => {
  const agent = await startFakeAgent({});
  await agent.close();

  await expect(connect(agent.url)).rejects.toMatchObject({
    kind: "unreachable",
    message: expect.stringMatching(/^could not reach http:.*ECONNREFUSED/),
  });
});

test("a URL that is not http is rejected before anything is sent", async () => {
  await expect(connect("localhost:3000")).rejects.toThrow('"localhost:3000" is not an http');
});

test("an invalid time is rejected before anything is sent", async () => {
  await expect(connect("http://127.0.0.1:1", { timeoutMs: 0 })).rejects.toThrow(
    "timeoutMs must be a number of at least 1",
  );
});

test("a required version is requested and selected", async () => {
  const both = (origin: string) => [
    { url: `${origin}/new`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    { url: `${origin}/old`, protocolBinding: "JSONRPC", protocolVersion: "0.3.0" },
  ];
  const agent = await startFakeAgent({
    pages: {
      "/.well-known/agent-card.json": (origin) => json({ supportedInterfaces: both(origin) }),
    },
  });

  expect(await connect(agent.url)).toMatchObject({ url: `${agent.url}/new`, version: "1.0" });
  const old = await connect(agent.url, { version: "0.3" });

  expect(old).toMatchObject({ url: `${agent.url}/old`, version: "0.3" });
  expect(agent.last.headers["a2a-version"]).toBe("0.3");
});

test("the token is sent to the origin it was given for, with the card and with calls", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => result(call, GREETING),
  });

  const remote = await connect(agent.url, { token: "secret" });
  await remote.send("Ann");

  expect(agent.seen.map(({ headers }) => headers["authorization"])).toEqual([
    "Bearer secret",
    "Bearer secret",
  ]);
});

test("a token that no header can carry is rejected without being quoted", async () => {
  await expect(connect("http://127.0.0.1:1", { token: "se\ncret" })).rejects.toThrow(
    /^the token holds characters that no token can have$/,
  );
});

test("a card that refers elsewhere never gets the token", async () => {
  const elsewhere = await startFakeAgent({ answer: (call) => result(call, GREETING) });
  const supportedInterfaces = [
    { url: elsewhere.url, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
  ];
  const agent = await startFakeAgent({ pages: pagesV1({ supportedInterfaces }) });

  await expect(connect(agent.url, { token: "secret" })).rejects.toMatchObject({
    kind: "other-origin",
    message: expect.stringContaining(
      `not given for ${elsewhere.url}, but the card at ${agent.url} lists only interfaces there`,
    ),
  });
  const remote = await connect(agent.url, { allow: [new URL(elsewhere.url).host] });

  expect((await remote.send("Ann")).text).toBe("Hello");
  expect(elsewhere.last.headers["authorization"]).toBeUndefined();
});

test("a redirect to another origin does not carry the token", async () => {
  const elsewhere = await startFakeAgent({ pages: pagesV1() });
  const headers = { Location: `${elsewhere.url}/.well-known/agent-card.json` };
  const agent = await startFakeAgent({
    pages: { "/.well-known/agent-card.json": () => ({ status: 302, headers }) },
  });

  await expect(connect(agent.url, { token: "secret" })).rejects.toMatchObject({
    kind: "other-origin",
  });

  expect(elsewhere.seen).toEqual([]);
});

test("connecting can be aborted", async () => {
  const agent = await startFakeAgent({
    pages: { "/.well-known/agent-card.json": () => ({ body: "{", end: "never" }) },
  });
  const signal = AbortSignal.timeout(50);

  await expect(connect(agent.url, { signal })).rejects.toThrow(/aborted due to timeout/);
});

test("another fetch can be used", async () => {
  const card = { name: "Nowhere", url: "https://agent.example/rpc" };
  const asked: unknown[] = [];
  const remote = await connect("https://agent.example", {
    fetch: async (url) => {
      asked.push(url);
      return Response.json(card);
    },
  });

  expect(remote).toMatchObject({ name: "Nowhere", url: "https://agent.example/rpc" });
  expect(asked).toEqual(["https://agent.example/.well-known/agent-card.json"]);
});
