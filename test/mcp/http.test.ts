import { expect, onTestFinished, test } from "vitest";
import { World } from "./a-world.ts";
import { aGate, anHttpServer } from "./http-server.ts";
import { eventually } from "./eventually.ts";
import { expectNoLeftovers } from "./marked-processes.ts";

expectNoLeftovers();

const SLOW = "everything__trigger-long-running-operation";
const ASKING = "everything__trigger-elicitation-request";

test("a server over HTTP provides tools, progress and results", async () => {
  const { url } = await anHttpServer();
  const world = new World({ everything: { url } });

  expect(await world.names()).toContain("everything__echo");
  expect(await world.result("everything__echo", { message: "hi" })).toBe("Echo: hi");
  const { events } = await world.call(SLOW, { duration: 0.4, steps: 2 });
  expect(events[0]).toEqual({ kind: "tool:progress", text: "1 of 2", fraction: 0.5 });
});

test("every request goes through the given fetch", async () => {
  const { url } = await anHttpServer();
  const seen: string[] = [];
  const world = new World(
    { everything: { url } },
    {
      fetch: (address, init) => {
        seen.push(`${init?.method} ${String(address)} ${init?.redirect}`);
        return fetch(address, init);
      },
    },
  );

  await world.names();
  await world.servers.close();

  expect(new Set(seen)).toEqual(
    new Set([`POST ${url} manual`, `GET ${url} manual`, `DELETE ${url} manual`]),
  );
});

test("a killed server fails the running call, and works again after its restart", async () => {
  const server = await anHttpServer();
  const world = new World({ everything: { url: server.url } });

  const { outcome } = await world.call(
    SLOW,
    { duration: 60, steps: 600 },
    { onEvent: () => void server.kill() },
  );

  expect(outcome).toEqual({
    kind: "error",
    text:
      "trigger-long-running-operation of the MCP server everything failed: it could not be " +
      "reached (ECONNREFUSED). It may or may not have done its work; check before you repeat it.",
  });
  expect(world.servers.report()[0]?.status).not.toBe("connected");
  await server.start();
  await eventually(async () => expect(await world.names()).toContain("everything__echo"));
  expect(await world.result("everything__echo", { message: "again" })).toBe("Echo: again");
});

test("a server that was restarted in the meantime is called in a new session", async () => {
  const server = await anHttpServer();
  const world = new World({ everything: { url: server.url } });
  const echo = await world.find("everything__echo");

  await server.kill();
  await server.start();
  const { outcome } = await world.run(echo, { message: "new" });

  expect(outcome).toEqual({ kind: "result", value: "Echo: new" });
});

test("an unreachable server is a status, and is used when it is available", async () => {
  const server = await anHttpServer();
  await server.kill();
  const world = new World({ everything: { url: server.url } });

  expect(await world.names()).toEqual([]);
  expect(world.servers.report()).toMatchObject([
    { status: "failed", error: "it could not be reached (ECONNREFUSED)" },
  ]);
  await server.start();
  await eventually(() => expect(world.servers.report()[0]?.status).toBe("connected"));
});

test("questions of two parallel calls go to the calls that raised them", async () => {
  const { url } = await anHttpServer();
  const world = new World({ everything: { url } });
  await world.names();

  const [ann, ben] = await Promise.all(
    ["ann", "ben"].map((taskId) => world.call(ASKING, {}, { taskId, toolCallId: "same" })),
  );
  const idOf = ({ outcome }: NonNullable<typeof ann>): string =>
    outcome.kind === "interrupts" ? outcome.interrupts[0]!.requestId : "";
  const [forBen, forAnn] = await Promise.all([
    world.result(
      ASKING,
      {},
      { taskId: "ben", toolCallId: "same", answers: { [idOf(ben!)]: "Ben" } },
    ),
    world.result(
      ASKING,
      {},
      { taskId: "ann", toolCallId: "same", answers: { [idOf(ann!)]: "Ann" } },
    ),
  ]);

  expect(forAnn).toContain("Name: Ann");
  expect(forBen).toContain("Name: Ben");
});

test("a server that requires a sign-in offers only that, and everything after it", async () => {
  let token: string | undefined;
  const gate = await aGate(await anHttpServer(), ({ headers }) =>
    headers.authorization === "Bearer good"
      ? undefined
      : {
          status: 401,
          headers: {
            "www-authenticate":
              'Bearer realm="The vault", resource_metadata="https://auth.example.com/.well-known/x"',
          },
        },
  );
  const world = new World({ vault: { url: gate.url, auth: () => token } });

  expect(await world.names()).toEqual(["vault__sign_in"]);
  expect(world.servers.report()).toMatchObject([
    { status: "failed", error: "the user must sign in first" },
  ]);
  const { outcome } = await world.call("vault__sign_in", {}, { toolCallId: "sign" });
  expect(outcome).toEqual({
    kind: "interrupts",
    interrupts: [
      {
        kind: "interrupt:auth",
        requestId: "sign-in",
        prompt: "The MCP server vault (The vault) wants you to sign in.",
        url: "https://auth.example.com/.well-known/x",
      },
    ],
  });
  const vain = await world.call(
    "vault__sign_in",
    {},
    { toolCallId: "sign", answers: { "sign-in": "" } },
  );
  expect(vain.outcome).toMatchObject({
    kind: "error",
    text: "The MCP server vault cannot be used: it still refuses us.",
  });
  token = "good";
  expect(
    await world.result("vault__sign_in", {}, { toolCallId: "sign", answers: { "sign-in": "" } }),
  ).toContain("can be used now");
  expect(await world.result("vault__echo", { message: "open" })).toBe("Echo: open");

  token = "old";
  const expired = await world.call("vault__echo", { message: "hi" }, { toolCallId: "echo" });
  expect(expired.outcome).toMatchObject({
    kind: "interrupts",
    interrupts: [{ kind: "interrupt:auth", requestId: "sign-in" }],
  });
  token = "good";
  expect(
    await world.result(
      "vault__echo",
      { message: "hi" },
      { toolCallId: "echo", answers: { "sign-in": "" } },
    ),
  ).toBe("Echo: hi");
});

test("our headers are sent to the server's origin and do not follow a redirect to another", async () => {
  const thief = await aGate({ port: 1 }, () => ({ status: 200, headers: {} }));
  const gate = await aGate({ port: 1 }, () => ({ status: 307, headers: { location: thief.url } }));
  const world = new World({
    moved: { url: gate.url, headers: { "x-key": "secret" }, auth: "token" },
  });

  expect(await world.names()).toEqual([]);

  expect(gate.seen[0]?.headers).toMatchObject({ "x-key": "secret", authorization: "Bearer token" });
  expect(thief.seen).toEqual([]);
  expect(world.servers.report()).toMatchObject([
    { status: "failed", error: "it answered with HTTP 307" },
  ]);
  expect(JSON.stringify(world.servers.report())).not.toContain("secret");
});

test("a redirect within the origin is followed", async () => {
  const gate = await aGate(await anHttpServer(), ({ url }) =>
    url === "/old" ? { status: 308, headers: { location: "/mcp" } } : undefined,
  );
  const world = new World({ moved: { url: gate.url.replace("/mcp", "/old") } });

  expect(await world.result("moved__echo", { message: "hi" })).toBe("Echo: hi");
});

test("a message that is too long ends the session, and the next call has a new one", async () => {
  const { url } = await anHttpServer();
  const world = new World({ everything: { url } }, { maxMessageBytes: 20_000 });
  await world.names();

  const { outcome } = await world.call("everything__echo", { message: "x".repeat(30_000) });

  expect(outcome).toMatchObject({
    kind: "error",
    text: expect.stringContaining("it sent more than 20000 bytes in one message") as string,
  });
  expect(await world.result("everything__echo", { message: "hi" })).toBe("Echo: hi");
});

test("a call that is canceled ends immediately, and its server serves others", async () => {
  const { url } = await anHttpServer();
  const world = new World({ everything: { url } });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());

  const running = world.call(
    SLOW,
    { duration: 60, steps: 600 },
    {
      signal: stop.signal,
      onEvent: () => stop.abort(new Error("enough")),
    },
  );

  await expect(running).rejects.toThrow("enough");
  expect(await world.result("everything__echo", { message: "hi" })).toBe("Echo: hi");
});

test("a token that cannot be obtained is a status, and nothing is sent", async () => {
  const gate = await aGate({ port: 1 }, () => ({ status: 200, headers: {} }));
  const auth = (): never => {
    throw new Error("the secret store is closed");
  };
  const world = new World({ vault: { url: gate.url, auth } });

  expect(await world.names()).toEqual([]);
  expect(world.servers.report()).toMatchObject([{ error: "its auth function failed" }]);
  expect(gate.seen).toEqual([]);
});
