import { readFileSync } from "node:fs";
import { withDialects } from "@convoke/coder";
import { REST_ROUTES } from "@convoke/protocol";
import { type AgentServer, defineAgent, serve } from "convoke";
import { Compile } from "typebox/schema";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CODER_ROUTES } from "../../packages/server/src/bindings/coder/routes.ts";
import { INBOUND_ROUTES } from "../../packages/server/src/bindings/inbound/routes.ts";
import { contracts } from "../../scripts/openapi.ts";
import { memoryLogger } from "../engine/an-engine.ts";
import { aTalker } from "../host/three-agents.ts";

interface Operation {
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema: object }>>;

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: object;
}

/** An agent with every kind of route: coding agents have some of their own. */
const root = withDialects(
  defineAgent({
    id: "root",
    name: "Root",
    description: "Has all routes.",
    async *run({ text, artifact }) {
      yield text;
      yield artifact("numbers.json", { list: [1, 2] });
    },
  }),
);

let server: AgentServer;
let document: Document;

beforeAll(async () => {
  server = await serve([root, aTalker("Other")], {
    port: 0,
    data: "memory",
    logger: memoryLogger(),
  });
  document = (await (await ask("GET", "/openapi.json")).json()) as Document;
});

afterAll(() => server.close());

describe("the OpenAPI document", () => {
  test("is public, also for web pages, and that of a disabled agent is gone like its card", async () => {
    const response = await ask("GET", "/openapi.json", undefined, { origin: "https://page.test" });
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(document.openapi).toMatch(/^3\.1\./);

    const before = await ask("GET", "/agents/other/openapi.json");
    await ask("POST", "/convoke/agents/other:disable");
    const after = await ask("GET", "/agents/other/openapi.json");
    const card = await ask("GET", "/agents/other/.well-known/agent-card.json");

    expect(before.status).toBe(200);
    expect(after.ok).toBe(false);
    expect(after.status).toBe(card.status);
  });

  test("has every route of the route tables", () => {
    const rest = Object.values(REST_ROUTES).flatMap(({ methods, paths }) =>
      Object.values(paths).flatMap((path) => methods.map((method) => [path, method] as const)),
    );
    const own = [...INBOUND_ROUTES, ...CODER_ROUTES].map(
      ({ path, method }) => [path, method] as const,
    );

    const missing = [...rest, ...own].filter(
      ([path, method]) => document.paths[path]?.[method.toLowerCase()] === undefined,
    );

    expect(rest.length).toBeGreaterThan(20);
    expect(missing).toEqual([]);
  });

  test("has no request that a server with everything switched on does not know", async () => {
    const requests = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => [method.toUpperCase(), path] as const),
    );

    const unknown: string[] = [];
    for (const [method, path] of requests) {
      const hasBody = !["GET", "DELETE"].includes(method);
      const response = await ask(
        method,
        path.replaceAll(/\{\w+\}/g, "none"),
        hasBody ? {} : undefined,
      );
      const isNothing = response.status === 404 && /nothing at/.test(await response.text());
      if (!response.bodyUsed) await response.body?.cancel();
      if (isNothing || response.status === 405) unknown.push(`${method} ${path}`);
    }

    expect(requests.length).toBeGreaterThan(50);
    expect(unknown).toEqual([]);
  });

  test.each([
    ["1.0", "", { role: "ROLE_USER", parts: [{ text: "hello" }] }],
    ["0.3", "/v1", { role: "ROLE_USER", content: [{ text: "hello" }] }],
  ])("describes the answers of REST %s", async (_version, prefix, message) => {
    const params = { message: { messageId: crypto.randomUUID(), ...message } };
    const sent = await answerTo("POST", `${prefix}/message:send`, {}, params);
    const { task } = sent.body as { task: { id: string } };
    const taskId = task.id;

    const answers = [
      sent,
      await answerTo("GET", `${prefix}/tasks/{taskId}`, { taskId }),
      // 0.3 has no lists.
      ...(prefix === "" ? [await answerTo("GET", "/tasks")] : []),
      await answerTo("GET", `${prefix}/tasks/{taskId}/pushNotificationConfigs`, { taskId }),
    ];

    for (const { schema, body } of answers) {
      const check = Compile({ ...schema, components: document.components });
      expect(check.Errors(body)).toEqual([true, []]);
    }
    const [{ schema }] = answers as [Answer];
    const wrong = { task: { ...task, status: { state: "no-state" } } };
    expect(Compile({ ...schema, components: document.components }).Check(wrong)).toBe(false);
  });
});

test("the published contracts are those of the tables; `npm run openapi` writes them", () => {
  for (const [path, text] of contracts()) expect(readFileSync(path, "utf8"), path).toBe(text);
});

interface Answer {
  /** What the document says about the body. */
  readonly schema: object;
  readonly body: unknown;
}

async function answerTo(
  method: string,
  path: string,
  names: Readonly<Record<string, string>> = {},
  params?: object,
): Promise<Answer> {
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name]!);
  const response = await ask(method, url, params);
  expect(response.status).toBe(200);
  const type = response.headers.get("content-type")!.split(";")[0]!;
  const { content } = document.paths[path]![method.toLowerCase()]!.responses["200"]!;
  return { schema: content![type]!.schema, body: await response.json() };
}

function ask(
  method: string,
  path: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(new URL(path, server.url), {
    method,
    headers: { ...(body && { "content-type": "application/json" }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
}
