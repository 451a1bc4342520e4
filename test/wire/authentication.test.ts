import { afterEach, describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { DIALECTS, type Verb } from "./dialect.ts";
import { exchange } from "./exchange.ts";
import { bodyOf, post, rpcText } from "./rpc.ts";
import { WireClient } from "./wire-client.ts";
import { type WireServer, useServer } from "./wire-server.ts";

const TOKEN = "s3cret-canary-token";
const GUESS = "guessed-canary-token";
const RIGHT = { authorization: `Bearer ${TOKEN}` };
const CARD = ".well-known/agent-card.json";

describe("a server with a token", () => {
  const server = useServer(undefined, { token: TOKEN });

  afterEach(async () => {
    for (const dialect of DIALECTS) {
      const task = await new WireClient(server, dialect, RIGHT).sendTask("hello");
      expect(task.status.state).toBe("completed");
    }
  });

  for (const dialect of DIALECTS) {
    for (const [what, headers] of [
      ["no token", {}],
      ["a wrong token", { authorization: `Bearer ${GUESS}` }],
      ["the token under another scheme", { authorization: `Basic ${TOKEN}` }],
      ["the token alone", { authorization: TOKEN }],
      ["the token in another header", { "x-api-key": TOKEN, cookie: `token=${TOKEN}` }],
    ] as const) {
      verifies("R114", `rejects ${what} for every operation (${dialect.version})`, async () => {
        const client = new WireClient(server, dialect, headers);

        for (const verb of Object.keys(dialect.methods) as Verb[]) {
          const answer = await client.call(verb, { id: "any" });

          expect(answer.status).toBe(401);
          expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="convoke"');
          expect(answer.headers.get("content-type")).toBe("application/json");
          expect(bodyOf(answer)).toMatchObject({
            jsonrpc: "2.0",
            id: null,
            error: { code: -32603, data: { reason: "unauthenticated" } },
          });
          expect(answer.text).not.toContain("canary");
        }
      });
    }

    verifies("R116", `accepts no identity from a payload (${dialect.version})`, async () => {
      const claims = { authorization: `Bearer ${TOKEN}`, token: TOKEN, owner: "token" };
      const client = new WireClient(
        { url: `${server.url}?token=${TOKEN}&authorization=Bearer%20${TOKEN}` },
        dialect,
      );

      const answer = await client.send("hello", {
        message: { metadata: claims, owner: "token" },
        metadata: claims,
      });

      expect(answer.status).toBe(401);
    });
  }

  verifies("R114", "checks the token before anything else in the request", async () => {
    const bad = await post(server.url, "{", { "content-type": "text/plain" });
    const nowhere = await fetch(`${server.url}nothing`);

    expect(bad.status).toBe(401);
    expect(nowhere.status).toBe(401);
  });

  verifies(
    ["R115", "sdk-p9"],
    "serves its card to everyone, and the card requires the token",
    async () => {
      for (const headers of [{}, { authorization: `Bearer ${GUESS}` }]) {
        const answer = await fetch(`${server.url}${CARD}`, { headers });

        const text = await answer.text();
        expect(answer.status).toBe(200);
        expect(JSON.parse(text)).toMatchObject({
          securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
          security: [{ bearer: [] }],
          securityRequirements: [{ schemes: { bearer: { list: [] } } }],
        });
        expect(text).not.toContain(TOKEN);
      }
    },
  );

  verifies("v1-S63", "never writes a token to its log", async () => {
    const client = new WireClient(server, DIALECTS[0] as (typeof DIALECTS)[number], RIGHT);
    await client.send("fail");
    await (
      await client.stream("slow 3")
    ).all;
    await post(`${server.url}?access_token=${TOKEN}`, "{", { authorization: `Bearer ${GUESS}` });
    await post(server.url, "{", RIGHT);

    const log = server.log.join("");

    expect(log).toContain('"status":401');
    expect(log).toContain('"status":200');
    expect(log).not.toContain("canary");
    expect(log.toLowerCase()).not.toContain("bearer");
    expect(log.toLowerCase()).not.toContain("authorization");
  });
});

describe("the log", () => {
  const server = useServer(undefined, { token: TOKEN });

  verifies("v1-S63", "has nothing of what callers and agents say", async () => {
    const said = "ann.canary@example.com";
    for (const dialect of DIALECTS) {
      const client = new WireClient(server, dialect, RIGHT);
      await client.send(`hello ${said}`, { message: { contextId: "c1" } });
      await (
        await client.stream(`slow 3 ${said}`)
      ).all;
      await client.send(said, { message: { parts: [{ canary: said }] } });
    }

    expect(server.log.join("")).toContain('"status":200');
    expect(server.log.join("")).not.toContain("canary");
  });
});

describe("a rejection", () => {
  const guarded = useServer(undefined, { token: TOKEN });

  test("uses the format of the version that the caller requests", async () => {
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };

    const answer = await fetch(guarded.url, { method: "POST", headers, body: "{}" });

    expect(answer.status).toBe(401);
    expect(await answer.json()).toMatchObject({
      error: { data: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo" }] },
    });
  });
});

describe("a host name that is not the server's", () => {
  const open = useServer();
  const guarded = useServer(undefined, { token: TOKEN, allowedHosts: ["agents.example.com"] });

  for (const host of ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "0.0.0.0"]) {
    test(`${host} is 403, for the card and for everything else`, async () => {
      const card = await asking(open, host, CARD);
      const call = await asking(open, host, "");
      const authorized = await asking(guarded, host, "", RIGHT);

      for (const { status, text } of [card, call, authorized]) {
        expect(status).toBe(403);
        expect(JSON.parse(text)).toMatchObject({
          jsonrpc: "2.0",
          id: null,
          error: { code: -32603, data: { reason: "forbidden" } },
        });
      }
    });
  }

  test("is accepted if it is allowed, with any port", async () => {
    for (const host of ["agents.example.com", "Agents.Example.com:8443", "localhost", "[::1]:1"]) {
      const { status } = await asking(guarded, host, CARD);

      expect(status).toBe(200);
    }
  });
});

/** A request with the given host: for the card, or a JSON-RPC call. */
function asking(server: WireServer, host: string, path: string, headers: object = {}) {
  return exchange({
    url: `${server.url}${path}`,
    method: path === "" ? "POST" : "GET",
    headers: { host, "content-type": "application/json", ...headers },
    body: path === "" ? [Buffer.from(rpcText("tasks/get", { id: "none" }))] : [],
  });
}
