import { createApiKey } from "@convoke/server";
import { apiKeys, bearer, jwt, mount, mtls, oidc, serve } from "convoke";
import { expect, onTestFinished, test } from "vitest";
import { verifies } from "../verifies.ts";
import { knowingAgent } from "./a-knowing-agent.ts";

const ISSUER = "https://id.example";
const AUDIENCE = "https://agent.example";
const { key, record } = createApiKey({ name: "ci" });

type Mounting = Parameters<typeof mount>[1];

async function anAgent(options: Mounting) {
  const mounted = await mount(knowingAgent, { data: "memory", ...options });
  onTestFinished(() => mounted.close());
  return (path: string, headers: Record<string, string> = {}) =>
    mounted.fetch(
      new Request(`http://localhost${path}`, { headers: { "a2a-version": "1.0", ...headers } }),
    );
}

verifies(
  ["R115", "v1-S54"],
  "the card declares every way to authenticate, in both versions",
  async () => {
    const get = await anAgent({
      auth: [
        apiKeys({ keys: [record] }),
        oidc({ issuer: ISSUER, audience: AUDIENCE }),
        oidc({ issuer: "https://other.example", audience: AUDIENCE }),
        mtls(),
        bearer("right"),
      ],
    });
    const card = async (version: string): Promise<unknown> =>
      (await get("/.well-known/agent-card.json", { "a2a-version": version })).json();
    const discovery = "/.well-known/openid-configuration";

    expect(await card("0.3")).toMatchObject({
      securitySchemes: {
        apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
        bearer: { type: "http", scheme: "bearer" },
        jwt: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
        oidc: { type: "openIdConnect", openIdConnectUrl: ISSUER + discovery },
        oidc2: { type: "openIdConnect", openIdConnectUrl: `https://other.example${discovery}` },
        mtls: { type: "mutualTLS" },
      },
      security: ["apiKey", "bearer", "oidc", "jwt", "oidc2", "mtls"].map((name) => ({
        [name]: [],
      })),
    });
    expect(await card("1.0")).toMatchObject({
      securitySchemes: {
        jwt: { httpAuthSecurityScheme: { scheme: "bearer", bearerFormat: "JWT" } },
        mtls: { mtlsSecurityScheme: {} },
      },
      securityRequirements: ["apiKey", "bearer", "oidc", "jwt", "oidc2", "mtls"].map((name) => ({
        schemes: { [name]: { list: [] } },
      })),
    });
  },
);

verifies(["R114", "v1-S54"], "one of several credentials is enough, whichever it is", async () => {
  const get = await anAgent({
    auth: [apiKeys({ keys: [record] }), jwt({ issuer: ISSUER, audience: AUDIENCE })],
    token: "right",
  });

  for (const [headers, status] of [
    [{ "x-api-key": key }, 200],
    [{ authorization: `Bearer ${key}` }, 200],
    [{ authorization: "Bearer right" }, 200],
    [{ authorization: "Bearer wrong" }, 401],
    [{}, 401],
  ] as const) {
    expect((await get("/tasks", headers)).status).toBe(status);
  }
});

test("a certificate does not help a request whose own credentials are not valid", async () => {
  const ofConnection = {
    schemes: { mtls: { type: "mutualTLS" } },
    isOfConnection: true,
    authenticate: () => ({ owner: "holder" }),
  } as const;
  const get = await anAgent({ auth: [ofConnection, apiKeys({ keys: [record] })] });

  expect((await get("/tasks")).status).toBe(200);
  expect((await get("/tasks", { "x-api-key": "wrong" })).status).toBe(401);
});

test("a 401 leads to the issuer of tokens (RFC 9728)", async () => {
  const get = await anAgent({ auth: [oidc({ issuer: ISSUER, audience: AUDIENCE })] });
  const path = "/.well-known/oauth-protected-resource";

  const refused = await get("/tasks");
  const described = await get(path);

  expect(refused.headers.get("www-authenticate")).toBe(
    `Bearer resource_metadata="http://localhost${path}", realm="convoke"`,
  );
  expect(described.headers.get("access-control-allow-origin")).toBe("*");
  expect(await described.json()).toEqual({
    resource: "http://localhost",
    resource_name: "Knowing",
    authorization_servers: [ISSUER],
    bearer_methods_supported: ["header"],
  });
});

test("a 403 for missing scopes leads a caller with a token to the issuer, and no other", async () => {
  const scopes = { operations: { listTasks: ["read", 'a "b"'] } };
  const auth = [
    apiKeys({ keys: [record] }),
    bearer("right", { scopes: ["read"] }),
    oidc({ issuer: ISSUER, audience: AUDIENCE }),
  ];
  const get = await anAgent({ auth, scopes });

  const withToken = await get("/tasks", { authorization: "Bearer right" });
  const withKey = await get("/tasks", { "x-api-key": key });
  const elsewhere = await get("/tasks", { authorization: "Bearer right", host: "evil.example" });

  expect(withToken.headers.get("www-authenticate")).toBe(
    'Bearer resource_metadata="http://localhost/.well-known/oauth-protected-resource", ' +
      'realm="convoke", error="insufficient_scope", scope="read a b"',
  );
  expect([withKey.status, withKey.headers.get("www-authenticate")]).toEqual([403, null]);
  expect([elsewhere.status, elsewhere.headers.get("www-authenticate")]).toEqual([403, null]);
});

test("a server without tokens of an issuer has no such description", async () => {
  const get = await anAgent({ auth: [bearer("right")] });

  expect((await get("/tasks")).headers.get("www-authenticate")).toBe('Bearer realm="convoke"');
  expect((await get("/.well-known/oauth-protected-resource")).status).toBe(401);
});

test("a server on another address than loopback does not start without authentication", async () => {
  const options = { port: 0, host: "0.0.0.0", data: "memory" } as const;

  await expect(serve(knowingAgent, options)).rejects.toThrow(
    "reachable from outside on 0.0.0.0 without authentication: set auth, token or authenticate",
  );
  await using closed = await serve(knowingAgent, { ...options, auth: [bearer("right")] });
  await using open = await serve(knowingAgent, { ...options, allowAnonymous: true });
  expect([closed.port, open.port]).not.toContain(0);
});

test("client certificates need the authorities that sign them", async () => {
  await expect(serve(knowingAgent, { port: 0, data: "memory", auth: [mtls()] })).rejects.toThrow(
    "mtls() needs tls.ca",
  );
});
