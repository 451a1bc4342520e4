import { connect, serve } from "convoke";
import { createJsonLogger } from "@convoke/engine";
import { describe, expect, onTestFinished, test } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";

const APP = "https://app.example";
const EVIL = "https://evil.example";

async function serving(origins?: readonly string[]): Promise<string> {
  const server = await serve(demoAgent, {
    port: 0,
    data: "memory",
    token: "s3cret",
    logger: createJsonLogger("silent", () => undefined),
    ...(origins && { cors: { origins } }),
  });
  onTestFinished(() => server.close());
  return server.url;
}

/** The preflight request of a browser. */
function ask(url: string, origin: string, method = "POST"): Promise<Response> {
  const headers = {
    origin,
    "access-control-request-method": method,
    "access-control-request-headers": "a2a-version, authorization, content-type",
  };
  return fetch(url, { method: "OPTIONS", headers });
}

/** The actual request of the page. */
function send(url: string, origin: string, token = "s3cret"): Promise<Response> {
  const headers = { origin, "content-type": "application/json", authorization: `Bearer ${token}` };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/get", params: { id: "t" } });
  return fetch(url, { method: "POST", headers, body });
}

const corsOf = ({ headers }: Response): readonly string[] =>
  [...headers.keys()].filter((name) => name.startsWith("access-control-"));

describe("a page of a listed origin", () => {
  test("needs no token for its preflight request, but one for the actual request", async () => {
    const url = await serving([APP]);

    const asked = await ask(url, APP);
    const refused = await send(url, APP, "guessed");
    const served = await send(url, APP);

    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-origin")).toBe(APP);
    expect(asked.headers.get("access-control-max-age")).toBe("7200");
    expect(refused.status).toBe(401);
    expect(refused.headers.get("access-control-allow-origin")).toBe(APP);
    expect(served.status).toBe(200);
    expect(served.headers.get("access-control-allow-origin")).toBe(APP);
    expect(served.headers.get("access-control-expose-headers")).toContain("x-request-id");
    expect(served.headers.get("vary")).toBe("Origin");
  });

  test("may use REST as well, also to delete", async () => {
    const url = await serving([APP]);

    const asked = await ask(`${url}tasks/t/pushNotificationConfigs/c`, APP, "DELETE");

    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-methods")).toContain("DELETE");
  });
});

describe.each([
  ["where others are listed", [APP]],
  ["where none is listed", undefined],
])("a page of another origin, %s", (_name, origins) => {
  test("is rejected in its preflight request, and in a request without one", async () => {
    const url = await serving(origins);

    for (const answer of [await ask(url, EVIL), await send(url, EVIL)]) {
      expect(answer.status).toBe(403);
      expect(corsOf(answer)).toEqual([]);
      expect(await answer.text()).toContain("CONVOKE_CORS_ORIGINS");
    }
  });

  test("may read the card, also in the version that it requests", async () => {
    const card = `${await serving(origins)}.well-known/agent-card.json`;

    const asked = await ask(card, EVIL, "GET");
    const served = await fetch(card, { headers: { origin: EVIL, "a2a-version": "1.0" } });

    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-headers")).toContain("a2a-version");
    for (const answer of [asked, served]) {
      expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    }
    expect(served.headers.get("vary")).toBe("A2A-Version");
  });
});

test("with * every page is served, but not with cookies", async () => {
  const url = await serving(["*"]);

  for (const answer of [await ask(url, EVIL), await send(url, EVIL), await send(url, "null")]) {
    expect(answer.ok).toBe(true);
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(answer.headers.has("access-control-allow-credentials")).toBe(false);
  }
});

test("programs send no origin, and are served as before", async () => {
  const agent = await connect(await serving([APP]), { token: "s3cret" });

  expect((await agent.send("hello")).task?.status.state).toBe("completed");
});
