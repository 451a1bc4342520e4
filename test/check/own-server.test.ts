import { generateCardKey } from "@convoke/protocol";
import { createJsonLogger } from "@convoke/engine";
import { type ServeAgentOptions, serve } from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { keptPort } from "../harness/kept-port.ts";
import { verifies } from "../verifies.ts";
import { checkedAgent } from "./check-agent.ts";
import { cardAt } from "./hostile-server.ts";
import { listenOn } from "./peer-server.ts";
import { HABITS, check, idsOf, resultOf, sectionOf, stumbles } from "./run-check.ts";

const TOKEN = "a-secret-of-the-check";

describe("our own server", () => {
  verifies(
    ["v1-S1", "v1-S2", "v1-S3", "v1-S18", "v03-S3", "R42"],
    "keeps to A2A on every binding in both versions",
    async () => {
      const url = await start();

      const { report, code } = await check(url, ...HABITS);

      expect(idsOf(report, "failed")).toEqual([]);
      expect(code).toBe(0);
      // A checker that asks nothing would find nothing.
      for (const [name, floor] of [
        ["Agent card", 11],
        ["JSONRPC 1.0", 85],
        ["HTTP+JSON 1.0", 82],
        ["GRPC 1.0", 66],
        ["JSONRPC 0.3", 58],
        ["HTTP+JSON 0.3", 50],
        ["GRPC 0.3", 44],
      ] as const) {
        expect([name, sectionOf(report, name).counts.passed]).toEqual([
          name,
          expect.toSatisfy((passed: number) => passed >= floor) as number,
        ]);
      }
      expect(report.sections).toHaveLength(7);
      for (const id of [
        "v1-S1.well-known",
        "v1-S1.required-fields",
        "v1-S46.required-lists",
        "v1-S2.answers",
        "v1-S18.subscribe-unknown",
        "v1-S18.subscribe-ended",
        "v03-S3.answers",
        "v03-S3.preferred-transport",
        "v03-S3.main-is-listed",
        "v03-S11.subscribe-unknown",
      ]) {
        expect([id, resultOf(report, id).outcome]).toEqual([id, "passed"]);
      }
      expect(stumbles(report)).toEqual([]);
    },
    60_000,
  );

  verifies(
    "v1-S4",
    "keeps to it also with a token, a signed card, an extended one and webhooks",
    async () => {
      const { kid, privateKey } = await generateCardKey("ES256");
      // The keys of a card must be said to be there before it is served.
      const port = await keptPort();
      const jku = `http://127.0.0.1:${port}/.well-known/jwks.json`;
      const url = await start({
        port,
        token: TOKEN,
        card: { keys: [{ kid, alg: "ES256", privateKey, jku }] },
        extendedCard: () => ({ description: "Only for those who are known." }),
        push: { allow: ["127.0.0.1"] },
      });

      const { report, code } = await check(url, "--token", TOKEN, "--slow", "slow");

      expect(idsOf(report, "failed")).toEqual([]);
      expect(code).toBe(0);
      for (const id of [
        "v1-S61.protected-header",
        "v1-S61.verifies",
        "v1-S4.cache-control",
        "v1-S4.etag",
        "v1-S4.not-modified",
        "v1-S4.no-secret",
        "v1-S44.security-schemes",
        "v1-S54.no-credentials",
        "v1-S54.wrong-credentials",
        "v1-S54.challenge",
        "v1-S57.extended-card",
        "v1-S28.extended-card",
        "v1-S42.notification",
        "v1-S42.authorization",
        "v03-S12.no-credentials",
        "v03-S17.token",
        "v03-S20.extended-card",
      ]) {
        expect([id, resultOf(report, id).outcome]).toEqual([id, "passed"]);
      }
    },
    60_000,
  );

  test("keeps to it for a tenant, which every request then names", async () => {
    const url = await start({ tenants: ["acme"] });
    const only = "v1-S8,v1-S19,v1-S14.first,v1-S22.list,v1-S5";
    const allowed = ["--allow-origin", new URL(url).origin, "--only", only];

    const { report } = await check(await cardFor(url, "acme"), ...allowed);
    const { report: nobodys } = await check(await cardFor(url, "nobody"), ...allowed);

    expect(idsOf(report, "failed")).toEqual([]);
    for (const name of ["JSONRPC 1.0", "HTTP+JSON 1.0", "GRPC 1.0"]) {
      expect(sectionOf(report, `${name} for acme`).counts.passed).toBeGreaterThan(5);
      expect(sectionOf(nobodys, `${name} for nobody`).counts.passed).toBe(0);
    }
  });

  test("refuses push as it should where it has none", async () => {
    const { report } = await check(await start({ push: false }), "--only", "v1-S26,v03-S5");

    expect(idsOf(report, "failed")).toEqual([]);
    expect(idsOf(report, "passed")).toContain("v1-S26.no-push");
    expect(idsOf(report, "passed")).toContain("v03-S5.no-push");
  });
});

/** Our server with its tasks in memory. */
async function start(options: ServeAgentOptions = {}): Promise<string> {
  const logger = createJsonLogger("silent", () => undefined);
  const server = await serve(checkedAgent, { port: 0, data: "memory", logger, ...options });
  onTestFinished(() => server.close());
  return server.url;
}

/** A card elsewhere that names our server for a tenant. */
async function cardFor(url: string, tenant: string): Promise<string> {
  const text = JSON.stringify(cardAt(url, ["JSONRPC", "HTTP+JSON", "GRPC"]));
  const card = await listenOn((_, response) => {
    response.end(text.replaceAll('"protocolVersion"', `"tenant":"${tenant}","protocolVersion"`));
  });
  onTestFinished(card.close);
  return card.url;
}
