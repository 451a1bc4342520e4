import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { scaleOf } from "./attack.ts";
import { ATTACK_FAMILIES } from "./attacks/all.ts";
import { type StartedTarget, runAttack } from "./run-attack.ts";
import { startOurs } from "./servers/our-target.ts";

const scale = scaleOf(process.env);

// Slow clients are disconnected sooner than by default, so that the test is short.
const QUICK = { timeouts: { headersMs: 1500, bodyMs: 1500 }, slowMs: 60_000 };

const exhausting = ATTACK_FAMILIES.filter(({ isExhausting }) => isExhausting === true);
const others = ATTACK_FAMILIES.filter(({ isExhausting }) => isExhausting !== true);

describe.each([
  ["our server", others, {}],
  ["our server with all its limits", exhausting, QUICK],
])("%s holds", (_, families, options) => {
  let started: StartedTarget;
  beforeAll(async () => {
    started = await startOurs(families[0]!, options);
  });
  afterAll(() => started[Symbol.asyncDispose]());

  describe.each(families)("$title", ({ attacks }) => {
    test.each(attacks)("$id: $sentence", { timeout: 240_000 }, async (attack) => {
      const outcome = await runAttack(attack, started.target, scale);
      expect(outcome).toEqual({ verdict: "held", reason: "" });
    });
  });
});
