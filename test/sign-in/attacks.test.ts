import { type IncomingMessage, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { type Authenticator, MemoryTokenStore, type Redirect, connect, jwt, oidc } from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { Person } from "./a-person.ts";
import { PERSON, ROBOT, useProvider } from "./a-provider.ts";
import { aGuardedAgent, anAgentFor, whoAmI } from "./a-guarded-agent.ts";
import { OneToken } from "./one-token.ts";

const provider = useProvider();

const byProvider = (origin: string) => ({
  auth: [oidc({ issuer: provider.url, audience: origin })],
});

/** A server of an attacker, who reads what it receives. */
async function anAttacker(answer: (path: string, url: string) => object = () => ({})) {
  const seen: string[] = [];
  let url = "";
  const server = createServer((request: IncomingMessage, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => {
      seen.push(`${request.method} ${request.url} ${request.headers.authorization ?? ""} ${body}`);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(answer(request.url ?? "", url)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, seen };
}

/** A redirect to which the browser returns with something else than the issuer said. */
function aForgedRedirect(forge: (returned: URL) => void): () => Promise<Redirect> {
  return async () => {
    let accept: (url: URL) => void;
    const returned = new Promise<URL>((resolve) => (accept = resolve));
    const server = createServer((request, response) => {
      const url = new URL(request.url ?? "/", "http://127.0.0.1");
      forge(url);
      response.end();
      accept(url);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    return {
      url: `http://127.0.0.1:${port}/callback`,
      returned,
      close: () => void server.close(),
    };
  };
}

test.each([
  ["the state of another sign-in", (url: URL) => url.searchParams.set("state", "forged"), "state"],
  ["no state", (url: URL) => url.searchParams.delete("state"), "state"],
  [
    "the answer of another issuer",
    (url: URL) => url.searchParams.set("iss", "https://e.example"),
    "iss",
  ],
  ["no issuer", (url: URL) => url.searchParams.delete("iss"), "iss"],
])("a browser that returns with %s gets no token", async (_, forge, named) => {
  const url = await aGuardedAgent(byProvider);
  const signIn = new Person().signIn({ openRedirect: aForgedRedirect(forge) });
  const agent = await anAgentFor(url, { ...PERSON, issuer: provider.url, signIn });
  const before = provider.tokenRequests.length;

  await expect(whoAmI(agent)).rejects.toMatchObject({
    kind: "sign-in",
    message: expect.stringContaining(named) as unknown,
  });
  expect(provider.tokenRequests).toHaveLength(before);
});

describe("a card", () => {
  const oauth2 = (flows: Record<string, Record<string, unknown>>) => (origin: string) => ({
    auth: [
      {
        ...jwt({ issuer: provider.url, audience: origin }),
        schemes: { any: { type: "oauth2", flows } as const },
      },
    ],
  });

  test("cannot combine the sign-in page of an issuer with a token endpoint elsewhere", async () => {
    const attacker = await anAttacker();
    const url = await aGuardedAgent(
      oauth2({
        authorizationCode: {
          authorizationUrl: `${provider.url}/auth`,
          tokenUrl: `${attacker.url}/token`,
          scopes: {},
        },
      }),
    );
    const ann = new Person();
    const signIn = ann.signIn({ openRedirect: aForgedRedirect(() => undefined) });
    const agent = await anAgentFor(url, { ...PERSON, signIn }, { allow: ["127.0.0.1"] });

    await expect(whoAmI(agent)).rejects.toMatchObject({ kind: "other-origin" });
    expect(ann.prompts).toEqual([]);
    expect(attacker.seen.filter((line) => line.startsWith("POST"))).toEqual([]);
  });

  test("cannot lead the secret to its own token endpoint", async () => {
    const attacker = await anAttacker();
    const tokenUrl = `${attacker.url}/token`;
    const url = await aGuardedAgent(oauth2({ clientCredentials: { tokenUrl, scopes: {} } }));
    const agent = await anAgentFor(
      url,
      { ...ROBOT, issuer: provider.url },
      { allow: ["127.0.0.1"] },
    );

    await expect(whoAmI(agent)).rejects.toMatchObject({ kind: "other-origin" });
    expect(attacker.seen).toEqual([]);
  });

  test("cannot lead the secret to its own issuer", async () => {
    const attacker = await anAttacker();
    const url = await aGuardedAgent((audience) => ({
      auth: [oidc({ issuer: attacker.url, audience })],
    }));
    const connecting = anAgentFor(
      url,
      { ...ROBOT, issuer: provider.url },
      { allow: ["127.0.0.1"] },
    );

    await expect(connecting).rejects.toMatchObject({
      kind: "sign-in",
      message: expect.stringContaining(`wants tokens of ${attacker.url}`) as unknown,
    });
    expect(attacker.seen).toEqual([]);
  });

  test("cannot lead the client to a private address", async () => {
    const url = await aGuardedAgent(byProvider);
    const before = provider.paths.length;
    const agent = await anAgentFor(url, { ...PERSON, signIn: new Person().signIn() });

    await expect(whoAmI(agent)).rejects.toMatchObject({ kind: "refused" });
    expect(provider.paths).toHaveLength(before);
  });

  test("that names another issuer after the sign-in gets neither the token nor a new one", async () => {
    const attacker = await anAttacker();
    const store = new MemoryTokenStore();
    const honest = await aGuardedAgent(byProvider);
    const options = { ...PERSON, issuer: provider.url, store };
    await whoAmI(await anAgentFor(honest, { ...options, signIn: new Person().signIn() }));

    const changed = await aGuardedAgent((audience) => ({
      auth: [oidc({ issuer: attacker.url, audience })],
    }));
    // The same agent as far as the client knows: only its card has changed.
    const card = (await (await fetch(`${changed}/.well-known/agent-card.json`)).json()) as object;
    const connecting = connect({ ...card }, { auth: { oauth: options }, cardUrl: honest });

    await expect(connecting).rejects.toMatchObject({ kind: "sign-in" });
    expect(attacker.seen).toEqual([]);
  });
});

test("metadata of another resource get no token", async () => {
  const attacker = await anAttacker((path, url) =>
    path.startsWith("/.well-known/oauth-protected-resource")
      ? { resource: "https://bank.example", authorization_servers: [provider.url] }
      : { name: "Evil", url, preferredTransport: "JSONRPC", protocolVersion: "0.3.0" },
  );
  const source = `Bearer resource_metadata="${attacker.url}/.well-known/oauth-protected-resource"`;
  const refusing = await aRefusingAgent(source);
  const agent = await anAgentFor(
    refusing.url,
    { ...ROBOT, issuer: provider.url },
    { allow: ["127.0.0.1"] },
  );
  const before = provider.tokenRequests.length;

  await expect(agent.send("hi")).rejects.toMatchObject({
    kind: "sign-in",
    message: expect.stringContaining("another resource") as unknown,
  });
  expect(provider.tokenRequests).toHaveLength(before);
});

test("an issuer that is not a URL is rejected by the name of the option", async () => {
  const oauth = { issuer: "id.example" };

  await expect(connect("https://agent.example", { auth: { oauth } })).rejects.toThrow(
    "auth.oauth.issuer must be the http or https URL of the issuer",
  );
});

test("a secret needs the issuer that it is for", async () => {
  await expect(connect("https://agent.example", { auth: { oauth: ROBOT } })).rejects.toThrow(
    "auth.oauth.clientSecret needs auth.oauth.clientId and auth.oauth.issuer",
  );
});

describe("a rejected token", () => {
  test("is replaced once, and the call is repeated once", async () => {
    let auth: ReturnType<typeof forgetful>;
    const url = await aGuardedAgent((origin) => {
      auth = forgetful(oidc({ issuer: provider.url, audience: origin }));
      return { auth: [auth] };
    });
    const agent = await anAgentFor(url, { ...ROBOT, issuer: provider.url });
    await whoAmI(agent);
    auth!.forget();
    const before = provider.tokenRequests.length;

    expect(await whoAmI(agent)).toMatchObject({ owner: `${provider.url}#robot` });
    expect(provider.tokenRequests).toHaveLength(before + 1);
  });

  test("is not replaced for ever", async () => {
    const refusing = await aRefusingAgent("Bearer");
    const agent = await anAgentFor(refusing.url, { ...ROBOT, issuer: provider.url });

    await expect(agent.send("hi")).rejects.toMatchObject({ httpStatus: 401 });
    expect(refusing.calls()).toBeLessThanOrEqual(2);
  });
});

test.each(["expired", "revoked"])("a refresh token that is %s means a new sign-in", async (how) => {
  const url = await aGuardedAgent(byProvider);
  const store = new OneToken();
  const options = { ...PERSON, issuer: provider.url, store };
  provider.refreshLifetime = how === "expired" ? 1 : 3600;
  const first = await anAgentFor(url, { ...options, signIn: new Person().signIn() });
  await whoAmI(first);
  const token = store.token!;
  if (how === "revoked") await revoke(token.refreshToken!);
  else await setTimeout(2000);
  // The access token has expired as well.
  store.token = { ...token, renewAt: 0 };
  const later = await anAgentFor(url, options);

  await expect(whoAmI(later)).rejects.toMatchObject({
    kind: "sign-in",
    message: `${url} requires a sign-in at ${provider.url}`,
  });
  expect(store.token).toBeUndefined();
});

async function revoke(token: string): Promise<void> {
  const body = new URLSearchParams({ token, client_id: PERSON.clientId });
  const { ok } = await fetch(`${provider.url}/token/revocation`, { method: "POST", body });
  expect(ok).toBe(true);
}

/** Accepts the same tokens, except those that it has seen before `forget` was called. */
function forgetful(one: Authenticator): Authenticator & { readonly forget: () => void } {
  const seen = new Set<string>();
  let forgotten = new Set<string>();
  return {
    ...one,
    authenticate(request) {
      const token = String(request.headers["authorization"] ?? "");
      if (forgotten.has(token)) return undefined;
      seen.add(token);
      return one.authenticate(request);
    },
    forget: () => {
      forgotten = new Set([...seen].filter((token) => token !== ""));
    },
  };
}

/** An agent that rejects every call. */
async function aRefusingAgent(challenge: string) {
  let calls = 0;
  let url = "";
  const server = createServer((request, response) => {
    if (request.url?.endsWith("agent-card.json") === true) {
      const securitySchemes = { any: { type: "http", scheme: "bearer" } };
      response.setHeader("content-type", "application/json");
      response.end(
        JSON.stringify({
          name: "Refusing",
          url,
          preferredTransport: "JSONRPC",
          protocolVersion: "0.3.0",
          securitySchemes,
        }),
      );
      return;
    }
    if (request.method === "POST") calls++;
    const isMetadata = request.url === "/.well-known/oauth-protected-resource";
    response.writeHead(isMetadata ? 200 : 401, { "www-authenticate": challenge });
    response.end(
      isMetadata ? JSON.stringify({ resource: url, authorization_servers: [provider.url] }) : "{}",
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, calls: () => calls };
}
