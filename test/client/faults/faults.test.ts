import { getCACertificates, setDefaultCACertificates } from "node:tls";
import {
  FAULT_GROUPS,
  FAULT_SCENARIOS,
  type FaultCall,
  type FaultScenario,
  type FaultyAgent,
} from "../../client-faults/index.ts";
import type { Mounted } from "@convoke/server";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { selfSigned } from "../../bindings/self-signed.ts";
import { complaintAbout } from "./judge.ts";
import { ourClient } from "./our-client.ts";
import { mountRepeater } from "./repeating-agent.ts";
import { runScenario } from "./run-scenario.ts";

// Run in parallel, because they mostly wait for the network.
vi.setConfig({ maxConcurrency: 24 });

/** `npm run test:resume` runs each scenario over everything that it speaks; this form over every other one. */
const IS_WHOLE = process.env["CONVOKE_CLIENT_FAULTS"] === "all";

function some({ speaks }: FaultScenario, place: number): FaultScenario["speaks"] {
  const isChosen = (n: number): boolean => speaks.length === 1 || (n + place) % 2 === 0;
  return IS_WHOLE ? speaks : speaks.filter((_, n) => isChosen(n));
}

/** The scenarios have their own limits, all of them shorter. */
const LIMIT_MS = 90_000;

const trusted = selfSigned();
const untrusted = selfSigned();
let repeater: Mounted;

beforeAll(async () => {
  setDefaultCACertificates([...getCACertificates(), trusted.cert]);
  repeater = await mountRepeater();
});

afterAll(() => repeater.close());

for (const { title, scenarios } of FAULT_GROUPS) {
  describe(title, () => {
    for (const [place, scenario] of scenarios.entries()) {
      // Scenarios that need a whole processor would slow down the others, and one run is enough.
      const isHeavy = scenario.boundMs !== undefined;
      for (const speaking of isHeavy ? scenario.speaks.slice(0, 1) : some(scenario, place)) {
        const { version, binding } = speaking;
        (isHeavy ? test : test.concurrent)(
          `${scenario.sentence} (${scenario.id}, ${binding} ${version})`,
          async () => {
            const { outcome, leaked, agent } = await runScenario({
              scenario,
              speaking,
              client: ourClient,
              tls: certificateFor(scenario),
              behind: repeater.fetch,
            });

            const complaint = complaintAbout(outcome, scenario.right);
            if (complaint !== undefined) expect.fail(complaint);
            expect(leaked, "connections that the client left open").toBe(0);
            expect(tooMany(agent, scenario), "requests that do harm").toEqual([]);
            expect(astray(agent), "credentials at another origin").toEqual([]);
          },
          LIMIT_MS,
        );
      }
    }
  });
}

describe("the scenarios", () => {
  test("are many, and each has a unique id and a sentence", () => {
    const ids = FAULT_SCENARIOS.map(({ id }) => id);
    const bad = FAULT_SCENARIOS.filter(({ sentence }) => !/^[A-Z].*\.$/.test(sentence));

    expect(ids.length).toBeGreaterThanOrEqual(80);
    expect(new Set(ids).size).toBe(ids.length);
    expect(bad).toEqual([]);
  });
});

/** The steps that were requested more often than allowed. */
function tooMany({ seen }: FaultyAgent, { atMost = {} }: FaultScenario): readonly string[] {
  const counts = Map.groupBy(seen, ({ step }) => step);
  return [...counts.keys()].filter((step) => counts.get(step)!.length > (atMost[step] ?? Infinity));
}

/** Requests with credentials under another name of the agent than the one that was given. */
function astray({ seen, url }: FaultyAgent): readonly string[] {
  const { host } = new URL(url);
  const isAstray = ({ headers }: FaultCall) =>
    headers["host"] !== undefined && headers["host"] !== host && "authorization" in headers;
  return seen.filter(isAstray).map(({ step }) => step);
}

function certificateFor({ tls }: FaultScenario): { readonly cert: string; readonly key: string } {
  return tls === "trusted" ? trusted : untrusted;
}
