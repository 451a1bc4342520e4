import { afterEach, describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { DIALECTS } from "./dialect.ts";
import { expectHealthy } from "./healthy.ts";
import { bodyOf, faultOf, post, rpcText } from "./rpc.ts";
import { WireClient } from "./wire-client.ts";
import { useServer } from "./wire-server.ts";

const CARD = ".well-known/agent-card.json";

const server = useServer();

afterEach(() => expectHealthy(server));

describe("JSON-RPC", () => {
  for (const dialect of DIALECTS) {
    verifies("R1", `is served at / and at /api/a2a (${dialect.version})`, async () => {
      const alias = { url: `${server.url}api/a2a` };

      const here = await new WireClient(server, dialect).sendTask("hello");
      const there = await new WireClient(alias, dialect).get(here.id);

      expect(there).toEqual(here);
    });
  }

  verifies("R1", "is served at the URL on the card", async () => {
    const card = (await (await fetch(`${server.url}${CARD}`)).json()) as { url: string };

    const answer = await post(card.url, rpcText("tasks/get", { id: "none" }));

    expect(faultOf(answer).code).toBe(-32001);
  });

  for (const path of ["", "api/a2a"]) {
    for (const method of ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
      verifies("R1", `accepts POST but not ${method} at /${path}`, async () => {
        const answer = await fetch(`${server.url}${path}`, { method });

        expect(answer.status).toBe(405);
        expect(answer.headers.get("allow")).toBe("POST");
        expect(answer.headers.get("content-type")).toBe("application/json");
        expect(await answer.json()).toEqual({
          error: { code: 405, message: `/${path} takes POST` },
        });
      });
    }
  }

  test("ignores unrelated query parameters", async () => {
    const answer = await post(`${server.url}?x=1`, rpcText("tasks/get", { id: "none" }));

    expect(bodyOf(answer)).toMatchObject({ id: 1, error: { code: -32001 } });
  });
});

describe("the card", () => {
  for (const path of [CARD, ".well-known/agent.json"]) {
    for (const method of ["POST", "PUT", "DELETE"]) {
      test(`accepts GET and HEAD but not ${method} at /${path}`, async () => {
        const answer = await fetch(`${server.url}${path}`, { method });

        expect(answer.status).toBe(405);
        expect(answer.headers.get("allow")).toBe("GET, HEAD");
        expect(await answer.json()).toMatchObject({ error: { code: 405 } });
      });
    }

    verifies(
      "R79",
      `is at /${path}, and HEAD returns the same headers without a body`,
      async () => {
        const got = await fetch(`${server.url}${path}`);
        const asked = await fetch(`${server.url}${path}`, { method: "HEAD" });

        const text = await got.text();
        expect(JSON.parse(text)).toMatchObject({
          name: "Convoke Demo",
          url: server.url.replace(/\/$/, ""),
        });
        expect(asked.status).toBe(200);
        expect(await asked.text()).toBe("");
        for (const name of ["etag", "vary", "cache-control", "content-type", "content-length"]) {
          expect(asked.headers.get(name)).toBe(got.headers.get(name));
        }
        expect(got.headers.get("content-length")).toBe(String(Buffer.byteLength(text)));
      },
    );
  }

  test("is 304 for a client that has it", async () => {
    const first = await fetch(`${server.url}${CARD}`);
    await first.text();

    const headers = { "if-none-match": first.headers.get("etag") ?? "" };
    const second = await fetch(`${server.url}${CARD}`, { headers });

    expect(second.status).toBe(304);
    expect(await second.text()).toBe("");
  });

  verifies("R125", "has the URL at which the server listens", async () => {
    for (const { version } of DIALECTS) {
      const headers = { "a2a-version": version };

      const text = await (await fetch(`${server.url}${CARD}`, { headers })).text();

      expect(text).toContain(`"url":"${server.url.replace(/\/$/, "")}"`);
      expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    }
  });

  verifies("R32", "declares streaming as it is supported", async () => {
    const card = await (await fetch(`${server.url}${CARD}`)).json();

    expect(card).toMatchObject({ capabilities: { streaming: true, pushNotifications: true } });
  });
});

describe("an unknown path", () => {
  for (const path of ["nothing", "api/a2a/", "api", "v1/nothing", ".well-known/", "%00"]) {
    for (const method of ["GET", "POST"]) {
      test(`${method} /${path} is 404 with the path of the card`, async () => {
        const answer = await fetch(`${server.url}${path}`, {
          method,
          ...(method === "POST" && { body: rpcText("tasks/get", { id: "none" }) }),
        });

        expect(answer.status).toBe(404);
        expect(answer.headers.get("content-type")).toBe("application/json");
        expect(await answer.json()).toEqual({
          error: {
            code: 404,
            message: `there is nothing at /${path}; the card is at /.well-known/agent-card.json`,
          },
        });
      });
    }
  }
});
