import { mkdtemp, rm } from "node:fs/promises";
import { type IncomingMessage, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { A2AError, type Caller } from "@convoke/protocol";
import { type Authenticate, connect, defineAgent, mount, serve } from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { speakersTo } from "../conformance/speakers.ts";
import { refusalOf } from "../conformance/refusal.ts";
import { aRequest } from "../conformance/requests.ts";
import { verifies } from "../verifies.ts";
import { bodyOf, post, rpcText } from "./rpc.ts";
import { useServer } from "./wire-server.ts";

/** Responds with what it knows about its caller, and with what it knew before it asked. */
const knowing = defineAgent({
  name: "knowing",
  description: "Says who calls.",
  async run({ caller, text, ask }) {
    if (text === "ask") await ask("Go on?");
    return JSON.stringify(caller);
  },
});

const ANN: Caller = { owner: "ann", scopes: ["read"], claims: { sub: "a-1", groups: ["x"] } };
const CALLERS: Readonly<Record<string, Caller>> = {
  ann: ANN,
  ben: { owner: "ben" },
  "ann@acme": { ...ANN, tenant: "acme" },
};

/** Looks up the key asynchronously, as a database would. */
const byKey: Authenticate = async ({ headers }) => {
  await Promise.resolve();
  const key = headers["x-key"];
  if (key === "broken") throw new Error("the database is at 10.0.0.7");
  if (key === "expired") throw new A2AError("Unauthenticated", "the key has expired");
  return typeof key === "string" ? CALLERS[key] : undefined;
};

const server = useServer(knowing, {
  authenticate: byKey,
  securitySchemes: {
    key: { type: "apiKey", in: "header", name: "X-Key" },
    login: {
      type: "oauth2",
      flows: { clientCredentials: { tokenUrl: "https://id/", scopes: {} } },
    },
  },
  security: [{ key: [] }, { login: ["read"] }],
});

const hello = () =>
  rpcText("message/send", {
    message: {
      messageId: crypto.randomUUID(),
      role: "user",
      parts: [{ kind: "text", text: "hi" }],
    },
  });

describe.each(speakersTo(server))("over $binding $version", (speaker) => {
  test("the agent gets the caller that authenticate returned", async () => {
    const ann = speaker.with({ "x-key": "ann" });

    const { artifacts } = await ann.sendTask(aRequest("hi"));

    expect(artifacts?.[0]?.parts).toMatchObject([{ text: JSON.stringify(ANN) }]);
  });

  test("an owner sees only its own tasks", async () => {
    const { id: taskId } = await speaker.with({ "x-key": "ann" }).sendTask(aRequest("hi"));

    const { reason } = await refusalOf(speaker.with({ "x-key": "ben" }).get({ taskId }));

    expect(reason).toBe("TaskNotFound");
  });

  verifies("R114", "a request without a caller is rejected", async () => {
    const { message } = await refusalOf(speaker.sendTask(aRequest("hi")));

    expect(message).toBe("Unauthorized: it is not known who calls");
  });
});

verifies("R114", "a rejected request gets 401, a challenge and the reason", async () => {
  const answer = await post(server.url, hello());

  expect(answer.status).toBe(401);
  expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="convoke"');
  expect(bodyOf(answer)).toMatchObject({
    id: null,
    error: { code: -32603, data: { reason: "unauthenticated" } },
  });
});

test("an A2AError of authenticate reaches the caller with its text", async () => {
  const answer = await post(server.url, hello(), { "x-key": "expired" });

  expect(answer.status).toBe(401);
  expect(answer.text).toContain("the key has expired");
});

test("any other error of authenticate is 500, and only the log has its text", async () => {
  for (const path of ["", "v1/tasks/x", "tasks/x"]) {
    const method = path === "" ? { method: "POST", body: hello() } : {};
    const headers = { "content-type": "application/json", "x-key": "broken" };
    const answer = await fetch(`${server.url}${path}`, { headers, ...method });
    const text = await answer.text();

    expect(answer.status).toBe(500);
    expect(text).not.toContain("10.0.0.7");
    const [errorId = "none"] = /(?<="errorId":")[^"]+/.exec(text) ?? [];
    expect(server.log.filter((line) => line.includes(errorId)).join("")).toContain("10.0.0.7");
  }
});

verifies("R115", "the card declares what authenticate accepts, in both versions", async () => {
  const cardIn = async (version: string): Promise<unknown> => {
    const headers = { "a2a-version": version };
    return (await fetch(`${server.url}.well-known/agent-card.json`, { headers })).json();
  };
  const flows = { clientCredentials: { tokenUrl: "https://id/", scopes: {} } };

  expect(await cardIn("0.3")).toMatchObject({
    securitySchemes: {
      key: { type: "apiKey", in: "header", name: "X-Key" },
      login: { type: "oauth2", flows },
    },
    security: [{ key: [] }, { login: ["read"] }],
  });
  expect(await cardIn("1.0")).toMatchObject({
    securitySchemes: {
      key: { apiKeySecurityScheme: { location: "header", name: "X-Key" } },
      login: { oauth2SecurityScheme: { flows } },
    },
    securityRequirements: [
      { schemes: { key: { list: [] } } },
      { schemes: { login: { list: ["read"] } } },
    ],
  });
});

test("a caller that belongs to a tenant stays in it", async () => {
  const [speaker] = speakersTo(server);
  const inAcme = speaker!.with({ "x-key": "ann@acme" });
  const get = (params: object, key: string) =>
    post(server.url, rpcText("GetTask", params), { "x-key": key, "a2a-version": "1.0" });

  const { id, artifacts } = await inAcme.sendTask(aRequest("hi"));

  expect(JSON.stringify(artifacts)).toContain("acme");
  expect(bodyOf(await get({ id, tenant: "acme" }, "ann@acme")).result).toMatchObject({ id });
  expect(bodyOf(await get({ id, tenant: "beta" }, "ann@acme")).error?.code).toBe(-32602);
  expect(bodyOf(await get({ id }, "ann")).error?.code).toBe(-32001);
});

test("the agent knows its caller also after a restart", async () => {
  const data = await mkdtemp(join(tmpdir(), "convoke-callers-"));
  onTestFinished(() => rm(data, { recursive: true, force: true }));
  const options = { port: 0, data, authenticate: byKey } as const;
  const headers = { "x-key": "ann" };
  const first = await serve(knowing, options);
  const { task } = await (await connect(first.url, { auth: { headers } })).send("ask");
  await first.close();

  await using second = await serve(knowing, options);
  const answer = await (
    await connect(second.url, { auth: { headers } })
  ).send("yes", { taskId: task!.id });

  expect(answer.text).toBe(JSON.stringify(ANN));
});

test("what an app's middleware has set on a request reaches authenticate", async () => {
  await using mounted = await mount(knowing, {
    data: "memory",
    authenticate: ({ node }) => (node as IncomingMessage & { user?: Caller }).user,
  });
  const app = createServer((request, response) => {
    mounted.node(Object.assign(request, { user: CALLERS["ben"] }), response);
  });
  await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void app.close());

  const remote = await connect(`http://127.0.0.1:${(app.address() as AddressInfo).port}/`);

  expect((await remote.send("hi")).text).toBe('{"owner":"ben"}');
});

test("authenticate gets the request of a fetch framework unchanged", async () => {
  const request = new Request("http://localhost/tasks/x");
  let given: Request | undefined;
  await using mounted = await mount(knowing, {
    data: "memory",
    authenticate: ({ web }) => void (given = web),
  });

  expect((await mounted.fetch(request)).status).toBe(401);
  expect(given).toBe(request);
});
