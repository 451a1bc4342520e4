import { apiKeys } from "@convoke/server";
import { expect, test } from "vitest";
import { readSettings } from "./settings.ts";

const DAY_MS = 24 * 60 * 60_000;

test("push settings, limits and retention come from the environment", () => {
  const settings = readSettings(
    {},
    {
      CONVOKE_PUSH_ALLOW: "hooks.internal:8080, 10.0.0.0/8,",
      CONVOKE_PUSH_SECRET: "whsec_c2VjcmV0",
      CONVOKE_LIMITS: "parts=10, openTasks=5",
      CONVOKE_RATE_LIMIT: "write=100/min, login=off",
      CONVOKE_KEEP_DAYS: "7",
      CONVOKE_KEEP_TASKS: "500",
      CONVOKE_CORS_ORIGINS: "https://App.Example:443, http://localhost:5173",
    },
  );

  expect(settings).toMatchObject({
    push: { allow: ["hooks.internal:8080", "10.0.0.0/8"], secret: "whsec_c2VjcmV0" },
    limits: { parts: 10, openTasks: 5 },
    rateLimits: { write: { limit: 100, windowMs: 60_000 }, login: false },
    retention: { maxAgeMs: 7 * DAY_MS, maxTasks: 500 },
    cors: { origins: ["https://app.example", "http://localhost:5173"] },
  });
});

test("the card, streaming, strictness, metrics and the read API come from the environment", () => {
  const env = {
    CONVOKE_CARD_FORM: "v1",
    CONVOKE_CARD_BINDINGS: "grpc, http+json",
    CONVOKE_GRPC_URL: "grpc.example.com:443",
    CONVOKE_STREAMING: "0",
    CONVOKE_FINAL_MESSAGE: "1",
    CONVOKE_STRICT: "1",
    CONVOKE_METRICS: "0",
    CONVOKE_READ_API: "1",
  };

  expect(readSettings({}, env)).toMatchObject({
    card: { form: "v1", bindings: ["GRPC", "HTTP+JSON"], grpcUrl: "grpc.example.com:443" },
    streaming: false,
    finalMessage: true,
    strict: true,
    metrics: false,
    readApi: true,
  });
  expect(readSettings({}, {})).not.toHaveProperty("metrics");
  expect(readSettings({}, {})).not.toHaveProperty("readApi");
  expect(readSettings({}, {})).toMatchObject({ card: {}, streaming: true, strict: false });
});

test.each([{}, { CONVOKE_LIMITS: "", CONVOKE_KEEP_DAYS: "", CONVOKE_PUSH_SECRET: "" }])(
  "what %j does not set keeps the server's default",
  (env) => {
    expect(readSettings({}, env)).toMatchObject({ push: { allow: [] }, limits: {}, retention: {} });
    expect(readSettings({}, env).push).not.toHaveProperty("secret");
    expect(readSettings({}, env).retention).toEqual({});
    expect(readSettings({}, env).cors).toEqual({ origins: [] });
  },
);

test("the environment replaces the ages of the configuration one by one, and keeps its exceptions", () => {
  const agents = { archive: { maxAgeMs: 9 } };
  const config = { retention: { maxAgeMs: 1, maxTasks: 2, agents } };

  expect(readSettings({}, {}, config).retention).toEqual(config.retention);
  expect(readSettings({}, { CONVOKE_KEEP_TASKS: "5" }, config).retention).toEqual({
    maxAgeMs: 1,
    maxTasks: 5,
    agents,
  });
});

test("every way to authenticate that the environment names is one of the server", () => {
  const { auth } = readSettings(
    {},
    {
      BIND_HOST: "0.0.0.0",
      CONVOKE_TOKEN: "secret",
      CONVOKE_API_KEYS: "/nowhere/keys.json",
      CONVOKE_JWT_ISSUER: "https://id.example",
      CONVOKE_JWT_AUDIENCE: "https://agent.example",
    },
  );

  expect(auth?.map(({ schemes }) => Object.keys(schemes))).toEqual([
    ["apiKey", "bearer"],
    ["oidc", "jwt"],
    ["bearer"],
  ]);
});

test("API keys can be in the database, if there is one", () => {
  const env = { CONVOKE_API_KEYS: "database" };

  const { auth } = readSettings({ database: "postgres://db/convoke" }, env);

  expect(auth?.map(({ schemes }) => Object.keys(schemes))).toEqual([["apiKey", "bearer"]]);
  expect(() => readSettings({}, env)).toThrow("--database or DATABASE_URL");
});

test("the environment takes precedence over the configuration", () => {
  const config = { auth: [apiKeys()], limits: { parts: 1, openTasks: 2 }, tenants: ["acme"] };

  const own = readSettings({}, { BIND_HOST: "0.0.0.0" }, config);
  const both = readSettings({}, { CONVOKE_TOKEN: "x", CONVOKE_LIMITS: "parts=10" }, config);

  expect(own).toMatchObject({ auth: config.auth, tenants: ["acme"] });
  expect(both.auth?.map(({ schemes }) => Object.keys(schemes))).toEqual([["bearer"]]);
  expect(both.limits).toEqual({ parts: 10, openTasks: 2 });
});

test("a function of the configuration that identifies callers is authentication, too", () => {
  const config = { authenticate: () => undefined, security: [{ bearer: [] }] };

  const own = readSettings({}, { BIND_HOST: "0.0.0.0" }, config);
  const replaced = readSettings({}, { CONVOKE_TOKEN: "x" }, config);

  expect(own).toMatchObject(config);
  expect(replaced).not.toHaveProperty("authenticate");
  expect(replaced).not.toHaveProperty("security");
});

const THE_LIMITS =
  "The limits are bodyBytes, parts, textLength, history, artifacts, artifactLength, events, openTasks, streams, ownerStreams, pageBytes, connections, addressConnections, unreadBytes.";

test.each<[env: Record<string, string>, message: string]>([
  [
    { CONVOKE_LIMITS: "part=10" },
    `CONVOKE_LIMITS has no limit "part". Did you mean parts? ${THE_LIMITS}`,
  ],
  [{ CONVOKE_LIMITS: "parts=10,xyzzy=1" }, `CONVOKE_LIMITS has no limit "xyzzy". ${THE_LIMITS}`],
  [{ CONVOKE_LIMITS: "toString=1" }, `CONVOKE_LIMITS has no limit "toString". ${THE_LIMITS}`],
  ...["parts", "parts=", "parts=0", "parts=1.5", "parts=-1", "parts=1e3", "parts=1=2"].map(
    (entry): [Record<string, string>, string] => [
      { CONVOKE_LIMITS: entry },
      `CONVOKE_LIMITS must set parts to a whole number above 0, as in parts=10, not "${entry}". ${THE_LIMITS}`,
    ],
  ),
  [
    { CONVOKE_JWT_ISSUER: "https://id.example" },
    "CONVOKE_JWT_ISSUER and CONVOKE_JWT_AUDIENCE belong together: set both, or none.",
  ],
  [
    { CONVOKE_JWT_ISSUER: "id.example", CONVOKE_JWT_AUDIENCE: "x" },
    'CONVOKE_JWT_ISSUER cannot be used: issuer must be the URL of the issuer, not "id.example".',
  ],
  [{ CONVOKE_API_KEYS: "/dev/null" }, "CONVOKE_API_KEYS cannot be used: /dev/null is not JSON."],
  [
    { CONVOKE_RATE_LIMIT: "send=1/s" },
    'CONVOKE_RATE_LIMIT: "send=1/s" is not a rate such as write=100/min, read=20/s or login=off; the classes are read, write, stream, login.',
  ],
  [{ CONVOKE_KEEP_DAYS: "0" }, 'CONVOKE_KEEP_DAYS must be a whole number above 0, not "0".'],
  [{ CONVOKE_KEEP_TASKS: "all" }, 'CONVOKE_KEEP_TASKS must be a whole number above 0, not "all".'],
  [
    { CONVOKE_PUSH_ALLOW: "10.0.0.7,http://hooks" },
    expect.stringMatching(/^CONVOKE_PUSH_ALLOW cannot be used: .*"http:\/\/hooks".*\.$/) as string,
  ],
  [
    { CONVOKE_CORS_ORIGINS: "https://app.example/page" },
    'CONVOKE_CORS_ORIGINS: "https://app.example/page" is not the origin of a web page, as in "https://app.example".',
  ],
  [
    { CONVOKE_CORS_ORIGINS: "app.example" },
    'CONVOKE_CORS_ORIGINS: "app.example" is not the origin of a web page, as in "https://app.example" or "*".',
  ],
  ...[
    ["http://a.b", "a.b"],
    ["https://A.b:8443/agent", "a.b:8443"],
    ["a.b/agent", "agent.example or agent.example:8080"],
  ].map(([entry = "", fix = ""]): [Record<string, string>, string] => [
    { CONVOKE_ALLOWED_HOSTS: `localhost,${entry}` },
    `CONVOKE_ALLOWED_HOSTS lists host names without a scheme or path: write ${fix} instead of ${JSON.stringify(entry)}.`,
  ]),
  [
    { CONVOKE_LOG_FORMAT: "xml" },
    'CONVOKE_LOG_FORMAT must be one of auto, pretty, json, not "xml".',
  ],
  [
    { CONVOKE_CARD_FORM: "v2" },
    'CONVOKE_CARD_FORM: "v2" is not one of negotiated, hybrid, v1, v03.',
  ],
  [
    { CONVOKE_CARD_BINDINGS: "GRPC,SOAP" },
    'CONVOKE_CARD_BINDINGS: "SOAP" is not one of JSONRPC, HTTP+JSON, GRPC.',
  ],
  [
    { CONVOKE_EXTENDED_CARD: "/nowhere.json" },
    "CONVOKE_EXTENDED_CARD: /nowhere.json cannot be read.",
  ],
  [
    { CONVOKE_PUSH_SECRET: "whsec_not base64" },
    expect.stringMatching(/^CONVOKE_PUSH_SECRET cannot be used: .*in base64.*\.$/) as string,
  ],
])("%j is rejected in one sentence", (env, message) => {
  expect(() => readSettings({}, env)).toThrow(
    expect.objectContaining({ name: "StartError", message }),
  );
});

test.each([
  ["CONVOKE_RG", "the file tools search by themselves"],
  ["CONVOKE_WORKERS", "start one server per core instead"],
])("the removed variable %s ends the start and says what to do instead", (name, sentence) => {
  expect(() => readSettings({}, { [name]: "4" })).toThrow(
    expect.objectContaining({ name: "StartError", message: expect.stringContaining(sentence) }),
  );
  expect(readSettings({}, { [name]: "" }).port).toBe(3000);
});

test("NATS_URL ends the start of a server on a database, and is the agent's own elsewhere", () => {
  const env = { NATS_URL: "nats://nats:4222" };

  expect(() => readSettings({ database: "postgres://db/convoke" }, env)).toThrow(
    "servers on one database notify each other by the database",
  );
  expect(readSettings({}, env).port).toBe(3000);
});
