import { describe, expect, test } from "vitest";
import { createEgress } from "../create-egress.ts";
import { type LocalServer, startServer } from "../connections/local-server.suite.ts";
import { createFetchClient } from "./fetch-client.ts";
import type { HttpClient } from "./http-client.ts";
import { readText } from "./read-body.ts";

/** Redirects with the `Location` of each path; other paths respond with themselves. */
function startRedirecting(
  locations: (path: string) => string | undefined,
  status = 302,
): Promise<LocalServer> {
  return startServer((response, { path = "" }) => {
    const location = locations(path);
    if (location === undefined) response.end(path);
    else response.writeHead(status, { Location: location }).end("elsewhere");
  });
}

const CLIENTS: Readonly<Record<string, (url: string) => HttpClient>> = {
  "the egress": (url) => createEgress({ trusted: [url] }),
  fetch: () => createFetchClient(),
};

for (const [name, createClient] of Object.entries(CLIENTS)) {
  describe(`via ${name}`, () => {
    test("a GET follows a redirect within the origin, with its headers", async () => {
      for (const status of [301, 302, 303, 307, 308]) {
        const server = await startRedirecting(
          (path) => ({ "/a": "/b", "/b": "c?d=1" })[path],
          status,
        );

        const answer = await createClient(server.url).request({
          url: `${server.url}/a`,
          headers: { "X-Key": "secret" },
        });

        expect(await readText(answer, undefined)).toBe("/c?d=1");
        expect(answer.url).toBe(`${server.url}/c?d=1`);
        expect(server.seen.map(({ headers }) => headers["x-key"])).toEqual(Array(3).fill("secret"));
      }
    });

    test("another origin is not called, and the error names both and the fix", async () => {
      const elsewhere = await startServer();
      for (const location of [
        `${elsewhere.url}/card?key=1`,
        `//127.0.0.1:${elsewhere.port}/`,
        `http:\\\\127.0.0.1:${elsewhere.port}`,
      ]) {
        const server = await startRedirecting((path) => (path === "/a" ? "/b" : location));

        await expect(
          createClient(server.url).request({ url: `${server.url}/a` }),
        ).rejects.toMatchObject({
          name: "ClientError",
          kind: "other-origin",
          message:
            `${server.url} redirects to ${elsewhere.url}, which is another origin; nothing was sent there. ` +
            `If you trust that address, use ${elsewhere.url} itself`,
        });
      }
      expect(elsewhere.connections()).toBe(0);
    });

    test("five redirects are followed, and no more", async () => {
      const server = await startRedirecting((path) => {
        const left = Number(path.slice(1));
        return left > 0 ? `/${left - 1}` : undefined;
      });
      const client = createClient(server.url);

      const answer = await client.request({ url: `${server.url}/5` });

      expect(await readText(answer, undefined)).toBe("/0");
      await expect(client.request({ url: `${server.url}/6` })).rejects.toMatchObject({
        kind: "unreachable",
        message: `${server.url} redirects more than 5 times; use the final address`,
      });
    });

    test("a redirect without a target is a response", async () => {
      const server = await startRedirecting(() => "http://");

      const answer = await createClient(server.url).request({ url: server.url });

      expect(answer.status).toBe(302);
      expect(await readText(answer, undefined)).toBe("elsewhere");
    });

    test("other methods treat a redirect as a response", async () => {
      const elsewhere = await startServer();
      for (const status of [301, 302, 303, 307, 308]) {
        const server = await startRedirecting(() => elsewhere.url, status);
        const client = createClient(server.url);
        for (const method of ["POST", "DELETE"] as const) {
          const answer = await client.request({ url: server.url, method });

          expect(answer).toMatchObject({ status, headers: { location: elsewhere.url } });
          expect(await readText(answer, undefined)).toBe("elsewhere");
        }
      }
      expect(elsewhere.connections()).toBe(0);
    });
  });
}

test("a redirect with a user name is rejected", async () => {
  const server = await startRedirecting((path) =>
    path === "/a" ? `${server.url.replace("//", "//me:you@")}/b` : undefined,
  );

  const attempt = createEgress({ trusted: [server.url] }).request({ url: `${server.url}/a` });

  await expect(attempt).rejects.toMatchObject({ kind: "refused", reason: "userinfo" });
  expect(server.seen).toHaveLength(1);
});
