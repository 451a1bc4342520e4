import fc from "fast-check";
import { createEgress } from "@convoke/egress";
import { describe, expect, test, vi } from "vitest";
import {
  type LocalServer,
  startServer,
} from "../../packages/egress/src/connections/local-server.suite.ts";

/** Represents a public address: the only one that the policy allows. */
const OUTSIDE = "127.0.0.1";
/** An address that no request may reach. */
const INSIDE = "127.0.0.2";

const ANSWERS = {
  outside: [OUTSIDE],
  inside: [INSIDE],
  "outside first": [OUTSIDE, INSIDE],
  "inside first": [INSIDE, OUTSIDE],
  mapped: [`::ffff:${INSIDE}`],
  loopback: ["::1"],
} as const;
type Answer = keyof typeof ANSWERS;

const STEPS = ["get", "post", "push", "redirect", "leave", "hang up", "http2"] as const;
type Step = (typeof STEPS)[number];

/** Two servers on the same port: one that the name may reach, and one that it may not. */
async function startPlaces(): Promise<{ outside: LocalServer; inside: LocalServer; url: string }> {
  const outside = await startServer((response, { path = "" }) => {
    if (path === "/redirect") response.writeHead(302, { Location: "/" }).end();
    else if (path === "/hang-up") response.writeHead(200, { Connection: "close" }).end();
    else response.end("outside");
  });
  const inside = await startServer((response) => response.end("inside"), {
    host: INSIDE,
    port: outside.port,
  });
  return { outside, inside, url: `http://moving.test:${outside.port}` };
}

// Other systems have only one loopback address.
describe.skipIf(process.platform !== "linux")("a name that moves to a private address", () => {
  test("is not followed there, over kept connections, redirects and HTTP/2", async () => {
    const { outside, inside, url } = await startPlaces();
    let refused = 0;
    let arrived = 0;

    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...(Object.keys(ANSWERS) as Answer[])), { minLength: 1 }),
        fc.array(fc.constantFrom(...STEPS), { minLength: 1, maxLength: 12 }),
        async (answers, steps) => {
          let asked = 0;
          const given: Answer[] = [];
          const egress = createEgress({
            allow: [OUTSIDE],
            connectTimeoutMs: 20_000,
            resolve: () => {
              const answer = answers[asked % answers.length] ?? "inside";
              asked += 1;
              given.push(answer);
              return Promise.resolve(ANSWERS[answer]);
            },
          });
          const before = outside.connections();

          for (const step of steps) {
            try {
              await take(step, egress, url);
              arrived += 1;
            } catch (error) {
              expect((error as Error).name).toBe("EgressError");
              refused += 1;
            }
          }
          egress.close();

          // Each connection was resolved and checked separately.
          const good = given.filter((answer) => answer === "outside").length;
          expect(outside.connections() - before).toBe(good);
          expect(inside.connections()).toBe(0);
        },
      ),
      { numRuns: 60 },
    );

    expect(refused).toBeGreaterThan(0);
    expect(arrived).toBeGreaterThan(0);
  });

  test("is still reached at its old address, over the connection that was checked", async () => {
    const { outside, inside, url } = await startPlaces();
    const resolve = vi
      .fn<(host: string) => Promise<readonly string[]>>()
      .mockResolvedValueOnce([OUTSIDE])
      .mockResolvedValue([INSIDE]);
    const egress = createEgress({ allow: [OUTSIDE], resolve });

    await take("redirect", egress, url);
    await take("hang up", egress, url);
    const after = take("get", egress, url);

    await expect(after).rejects.toMatchObject({ kind: "refused", reason: "address" });
    expect(outside.seen.map(({ path }) => path)).toEqual(["/redirect", "/", "/hang-up"]);
    expect([outside.connections(), inside.connections()]).toEqual([1, 0]);
  });

  test("would be reached without the policy", async () => {
    const { inside, url } = await startPlaces();
    const egress = createEgress({
      allow: ["moving.test"],
      resolve: () => Promise.resolve([INSIDE]),
    });

    await take("get", egress, url);

    expect(inside.seen).toHaveLength(1);
  });
});

async function take(
  step: Step,
  egress: ReturnType<typeof createEgress>,
  url: string,
): Promise<void> {
  switch (step) {
    case "get":
      return drain(await egress.request({ url }));
    case "post":
      return drain(await egress.request({ url, body: "{}" }));
    case "push":
      await egress.post(url, { headers: {}, body: "{}", timeoutMs: 20_000 });
      return undefined;
    case "redirect":
      return drain(await egress.request({ url: `${url}/redirect` }));
    case "hang up":
      return drain(await egress.request({ url: `${url}/hang-up` }));
    case "leave": {
      const { body } = await egress.request({ url });
      await body[Symbol.asyncIterator]().return?.();
      return undefined;
    }
    case "http2":
      await egress.openHttp2(url);
      return undefined;
  }
}

async function drain({ body }: { readonly body: AsyncIterable<Uint8Array> }): Promise<void> {
  for await (const _piece of body);
}
