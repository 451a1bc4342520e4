import { describe, expect, test, vi } from "vitest";
import { startServer, unusedPort } from "../connections/local-server.suite.ts";
import { createFetchClient } from "./fetch-client.ts";
import { readText } from "./read-body.ts";

test("a reader that does not read to the end leaves no connection behind", async () => {
  const server = await startServer((response) => void response.write("never ends"));
  const client = createFetchClient();

  for await (const _piece of (await client.request({ url: server.url })).body) break;
  await (await client.request({ url: server.url })).body[Symbol.asyncIterator]().return?.();

  await vi.waitFor(() => expect(server.open()).toBe(0), { timeout: 20_000 });
});

test("a body that breaks off is a lost connection", async () => {
  const server = await startServer((response) => {
    response.writeHead(200, { "Content-Length": "100" });
    response.write("half", () => response.destroy());
  });
  const answer = await createFetchClient().request({ url: server.url });

  await expect(readText(answer, undefined)).rejects.toMatchObject({
    kind: "unreachable",
    message: expect.stringContaining(`the connection to ${server.url} was lost: `) as unknown,
  });
});

test("if no server listens, certainly nothing was sent", async () => {
  const url = `http://127.0.0.1:${await unusedPort()}/`;

  await expect(createFetchClient().request({ url, body: "{}" })).rejects.toMatchObject({
    kind: "unreachable",
    sent: false,
  });
});

/** A browser shows a redirect as a response without status and `Location`. Node shows all of it. */
describe("in a browser, which hides where a redirect leads", () => {
  function browser(end: string) {
    const modes: (RequestRedirect | undefined)[] = [];
    const fetch = (_url: unknown, init?: RequestInit) => {
      modes.push(init?.redirect);
      const response = new Response("card");
      const shown =
        init?.redirect === "manual" ? { type: "opaqueredirect", status: 0 } : { url: end };
      for (const [key, value] of Object.entries(shown)) {
        Object.defineProperty(response, key, { value });
      }
      return Promise.resolve(response);
    };
    return { client: createFetchClient(fetch), modes };
  }

  test("a GET without secrets follows it, within the origin", async () => {
    const { client, modes } = browser("https://agent.example/card.json");

    const answer = await client.request({
      url: "https://agent.example/card",
      headers: { Accept: "application/json", "A2A-Version": "1.0" },
    });

    expect(answer.url).toBe("https://agent.example/card.json");
    expect(await readText(answer, undefined)).toBe("card");
    expect(modes).toEqual(["manual", "follow"]);
  });

  test("a response from another origin is not accepted", async () => {
    const { client } = browser("https://evil.example/card.json");

    await expect(client.request({ url: "https://agent.example/card" })).rejects.toMatchObject({
      kind: "other-origin",
      message: expect.stringContaining("redirects to https://evil.example") as unknown,
    });
  });

  test("a request that may contain secrets is not redirected", async () => {
    for (const call of [
      { headers: { "X-API-Key": "secret" } },
      { headers: { authorization: "Bearer secret" } },
      { headers: { Accept: "application/json" }, body: "{}" },
      { method: "DELETE" },
    ] as const) {
      const { client, modes } = browser("https://evil.example/");

      await expect(
        client.request({ url: "https://agent.example/", ...call }),
      ).rejects.toMatchObject({
        kind: "other-origin",
        message:
          "https://agent.example responds with a redirect, and a browser does not reveal its target; " +
          "nothing was sent there. Use the final address",
      });
      expect(modes).toEqual(["manual"]);
    }
  });
});
