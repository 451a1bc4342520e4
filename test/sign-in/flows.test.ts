import { jwt, oidc, openLoopbackRedirect } from "convoke";
import { expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { Person } from "./a-person.ts";
import { PERSON, ROBOT, useProvider } from "./a-provider.ts";
import { aGuardedAgent, anAgentFor, whoAmI } from "./a-guarded-agent.ts";
import { OneToken } from "./one-token.ts";

const provider = useProvider();

/** Guarded by tokens of the provider; its card names the provider. */
const byProvider = (origin: string) => ({
  auth: [oidc({ issuer: provider.url, audience: origin })],
});

const trusting = () => ({ issuer: provider.url });

verifies("v03-C4", "a program gets a token with its secret, for the agent only", async () => {
  const url = await aGuardedAgent(byProvider);
  const agent = await anAgentFor(url, { ...ROBOT, ...trusting(), scopes: ["read"] });

  expect(await whoAmI(agent)).toMatchObject({ owner: `${provider.url}#robot`, scopes: ["read"] });
  const { form } = provider.tokenRequests.at(-1)!;
  expect(Object.fromEntries(form)).toEqual({
    grant_type: "client_credentials",
    resource: url,
    scope: "read",
  });
});

test("a person signs in with a browser that returns to a port of this machine", async () => {
  const url = await aGuardedAgent(byProvider);
  const ann = new Person();
  const signIn = ann.signIn({ openRedirect: openLoopbackRedirect });
  const agent = await anAgentFor(url, { ...PERSON, ...trusting(), signIn });

  expect(await whoAmI(agent)).toMatchObject({ owner: `${provider.url}#ann` });
  const [prompt] = ann.prompts;
  expect(Object.fromEntries(new URL(prompt!.url).searchParams)).toMatchObject({
    code_challenge_method: "S256",
    resource: url,
    redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/) as unknown,
  });
});

test("a person signs in on another device with a code", async () => {
  const url = await aGuardedAgent(byProvider);
  const ann = new Person();
  const agent = await anAgentFor(url, { ...PERSON, ...trusting(), signIn: ann.signIn() });

  expect(await whoAmI(agent)).toMatchObject({ owner: `${provider.url}#ann` });
  expect(ann.prompts).toMatchObject([{ kind: "device", issuer: provider.url }]);
});

test("a program without an id registers itself", async () => {
  const url = await aGuardedAgent(byProvider);
  const signIn = new Person().signIn({ openRedirect: openLoopbackRedirect });
  const agent = await anAgentFor(url, { ...trusting(), signIn });

  expect(await whoAmI(agent)).toMatchObject({ owner: `${provider.url}#ann` });
  expect(provider.paths).toContain("/reg");
});

test("the metadata that a 401 names say what the card does not (RFC 9728)", async () => {
  const url = await aGuardedAgent((origin) => ({
    auth: [jwt({ issuer: provider.url, audience: origin })],
  }));
  const agent = await anAgentFor(url, { ...ROBOT, ...trusting() });

  expect(await whoAmI(agent)).toMatchObject({ owner: `${provider.url}#robot` });
});

test.each(["0.3", "1.0"] as const)(
  "the endpoints and scopes that a card of %s requires are used",
  async (version) => {
    const flow = { tokenUrl: `${provider.url}/token`, scopes: { read: "Read.", write: "Write." } };
    const url = await aGuardedAgent((origin) => ({
      authenticate: jwt({ issuer: provider.url, audience: origin }).authenticate,
      securitySchemes: { robots: { type: "oauth2", flows: { clientCredentials: flow } } },
      security: [{ robots: ["read"] }],
    }));
    const agent = await anAgentFor(url, { ...ROBOT, ...trusting() }, { version });

    expect(await whoAmI(agent)).toMatchObject({ owner: `${provider.url}#robot`, scopes: ["read"] });
  },
);

test.each(["jsonrpc", "grpc"] as const)(
  "a call over %s can be aborted while the person signs in",
  async (binding) => {
    const url = await aGuardedAgent(byProvider);
    const stop = new AbortController();
    const show = (): Promise<void> => {
      stop.abort(new Error("enough"));
      return new Promise(() => undefined);
    };
    const oauth = { ...PERSON, ...trusting(), signIn: { show } };
    const agent = await anAgentFor(url, oauth, { bindings: [binding] });

    await expect(agent.get("any", { signal: stop.signal })).rejects.toThrow("enough");
  },
);

test("many calls share one token, and one refresh", async () => {
  const url = await aGuardedAgent(byProvider);
  const store = new OneToken();
  const signIn = new Person().signIn({ openRedirect: openLoopbackRedirect });
  const agent = await anAgentFor(url, { ...PERSON, ...trusting(), signIn, store });
  const before = provider.tokenRequests.length;
  await Promise.all([whoAmI(agent), whoAmI(agent), whoAmI(agent)]);
  // As if it had expired.
  store.token = { ...store.token!, renewAt: 0 };

  await Promise.all([whoAmI(agent), whoAmI(agent), whoAmI(agent)]);

  const grants = provider.tokenRequests.map(({ form }) => form.get("grant_type"));
  expect(grants.slice(before)).toEqual(["authorization_code", "refresh_token"]);
});
