import type { Report } from "@convoke/check";
import { generateCardKey } from "@convoke/protocol";
import { createJsonLogger } from "@convoke/engine";
import { type Agent, type ServeAgentOptions, defineAgent, serve } from "convoke";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { keptPort } from "../harness/kept-port.ts";
import { verifies } from "../verifies.ts";
import { checkedAgent, omnivore } from "./check-agent.ts";
import { cardAt } from "./hostile-server.ts";
import { listenOn } from "./peer-server.ts";
import { HABITS, check, idsOf, resultOf, sectionOf, stumbles } from "./run-check.ts";

const TOKEN = "a-secret-of-the-check";

/** What the run with all probes proves. Other runs add what needs other server settings. */
const CITED = [
  "v1-S1",
  "v1-S2",
  "v1-S5",
  "v1-S6",
  "v1-S7",
  "v1-S8",
  "v1-S9",
  "v1-S10",
  "v1-S11",
  "v1-S12",
  "v1-S14",
  "v1-S15",
  "v1-S16",
  "v1-S17",
  "v1-S18",
  "v1-S19",
  "v1-S20",
  "v1-S21",
  "v1-S22",
  "v1-S23",
  "v1-S24",
  "v1-S25",
  "v1-S33",
  "v1-S34",
  "v1-S35",
  "v1-S36",
  "v1-S38",
  "v1-S39",
  "v1-S40",
  "v1-S41",
  "v1-S44",
  "v1-S45",
  "v1-S46",
  "v1-S47",
  "v1-S48",
  "v1-S49",
  "v1-S50",
  "v1-S51",
  "v1-S52",
  "v1-S53",
  "v03-S3",
  "v03-S4",
  "v03-S5",
  "v03-S6",
  "v03-S7",
  "v03-S8",
  "v03-S9",
  "v03-S10",
  "v03-S11",
  "v03-S14",
  "v03-S15",
  "v03-S16",
  "v03-S21",
];

describe("our own server", () => {
  verifies(
    [...CITED, "v1-S3", "R10", "R42"],
    "passes every probe on every binding in both versions",
    async () => {
      const { report, code } = await check(await start(), ...HABITS);

      expectProven(report, CITED);
      expect(code).toBe(0);
      // A checker that sends nothing would find nothing.
      for (const [name, floor] of [
        ["Agent card", 11],
        ["JSONRPC 1.0", 108],
        ["HTTP+JSON 1.0", 106],
        ["GRPC 1.0", 86],
        ["JSONRPC 0.3", 72],
        ["HTTP+JSON 0.3", 64],
        ["GRPC 0.3", 56],
      ] as const) {
        expect([name, sectionOf(report, name).counts.passed]).toEqual([
          name,
          expect.toSatisfy((passed: number) => passed >= floor) as number,
        ]);
      }
      expect(report.sections).toHaveLength(7);
      expect(stumbles(report)).toEqual([]);
    },
    120_000,
  );

  verifies(
    ["v1-S4", "v1-S28", "v1-S42", "v1-S54", "v03-S12", "v03-S17", "v03-S20"],
    "also passes them with a token, a signed card, an extended card and webhooks",
    async () => {
      const { kid, privateKey } = await generateCardKey("ES256");
      // The URL of the keys must be known before the card is served.
      const port = await keptPort();
      const jku = `http://127.0.0.1:${port}/.well-known/jwks.json`;
      const url = await start({
        port,
        token: TOKEN,
        card: { keys: [{ kid, alg: "ES256", privateKey, jku }] },
        extendedCard: () => ({ description: "Only for those who are known." }),
        push: { allow: ["127.0.0.1"] },
      });
      const proven = ["v1-S4", "v1-S28", "v1-S42", "v1-S54", "v1-S57", "v1-S61"];
      const proven03 = ["v03-S12", "v03-S17", "v03-S20"];
      const more = ["v1-S44.security-schemes", "v1-S41.no-notification", "v03-S5.no-notification"];
      const only = [...proven, ...proven03, ...more];

      const { report, code } = await check(
        url,
        "--token",
        TOKEN,
        ...HABITS,
        "--only",
        only.join(","),
      );

      expectProven(report, [...proven, ...proven03]);
      for (const id of more) expect([id, resultOf(report, id).outcome]).toEqual([id, "passed"]);
      expect(code).toBe(0);
    },
    60_000,
  );

  verifies(
    ["v1-S26", "v1-S27", "v1-S28", "v03-S5"],
    "rejects streams, push configs and extended cards if it has none",
    async () => {
      const url = await start({ streaming: false, push: false });
      const only = "v1-S26,v1-S27,v1-S28,v03-S5.no-streaming,v03-S5.no-push,v03-S20";

      const { report } = await check(url, "--only", only);

      expectProven(report, ["v1-S26", "v1-S27", "v1-S28", "v03-S5", "v03-S20"]);
    },
  );

  verifies(["v1-S5", "v03-S10"], "returns on every binding what one has accepted", async () => {
    const only = "v1-S5.unusual-content,v03-S10.unusual-content";

    const { report } = await check(await startAgent(omnivore), "--only", only);

    expectProven(report, ["v1-S5", "v03-S10"]);
  });

  verifies("v1-S12", "does not wait for an agent that may reply with a message", async () => {
    const slow = defineAgent({
      name: "Thinking",
      description: "Thinks for three seconds when it is told to.",
      replies: true,
      async run({ text, signal }) {
        if (text === "think") await sleep(3000, undefined, { signal });
        return "done";
      },
    });
    const only = ["--only", "v1-S12.returns-quickly,v03-S4.returns-quickly"];

    const { report } = await check(await startAgent(slow), "--slow", "think", ...only);

    expectProven(report, ["v1-S12", "v03-S4"]);
  });

  verifies(["v1-S8", "v1-S14", "v03-S4"], "may reply with messages only", async () => {
    const replying = defineAgent({
      name: "Replying",
      description: "Answers without a task.",
      replies: true,
      run: ({ reply }) => reply("so"),
    });
    const only = "v1-S8,v1-S14.first,v1-S14.ends,v1-S33,v03-S4.send,v03-S7.ends";

    const { report } = await check(await startAgent(replying), "--only", only);

    expectProven(report, ["v1-S8", "v1-S14", "v1-S33", "v03-S4", "v03-S7"]);
  });

  test("also passes for a tenant, which every request then names", async () => {
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
});

/** Nothing has failed, and each requirement has a probe that passed. */
function expectProven(report: Report, requirements: readonly string[]): void {
  expect(idsOf(report, "failed")).toEqual([]);
  const proven = report.sections
    .flatMap(({ results }) => results)
    .filter(({ outcome }) => outcome === "passed")
    .map(({ requirement }) => requirement);
  expect(requirements.filter((id) => !proven.includes(id))).toEqual([]);
}

function start(options: ServeAgentOptions = {}): Promise<string> {
  return startAgent(checkedAgent, options);
}

/** Our server with its tasks in memory. */
async function startAgent(agent: Agent, options: ServeAgentOptions = {}): Promise<string> {
  const logger = createJsonLogger("silent", () => undefined);
  const server = await serve(agent, { port: 0, data: "memory", logger, ...options });
  onTestFinished(() => server.close());
  return server.url;
}

/** A card elsewhere that refers to our server with a tenant. */
async function cardFor(url: string, tenant: string): Promise<string> {
  const text = JSON.stringify(cardAt(url, ["JSONRPC", "HTTP+JSON", "GRPC"]));
  const card = await listenOn((_, response) => {
    response.end(text.replaceAll('"protocolVersion"', `"tenant":"${tenant}","protocolVersion"`));
  });
  onTestFinished(card.close);
  return card.url;
}
