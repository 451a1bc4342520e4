import fc from "fast-check";
import type { RegistryEntry } from "@convoke/protocol";
import { expect, test } from "vitest";
import { type RankedAgent, routeToAgent } from "./route-to-agent.ts";

const NOW = Date.parse("2026-01-02T00:00:00Z");

const MINUTE_MS = 60_000;

function anEntry(fields: Partial<RegistryEntry> = {}): RegistryEntry {
  return {
    id: "poet",
    url: "https://poet.example/",
    cardUrl: "https://poet.example/.well-known/agent-card.json",
    name: "Poet",
    description: "Writes poems.",
    tags: [],
    skills: [{ id: "rhyme", name: "Rhyme", description: "Finds rhymes.", tags: ["words"] }],
    registeredAt: new Date(NOW).toISOString(),
    heartbeatAt: new Date(NOW).toISOString(),
    state: "active",
    health: { state: "up", checks: 9, answered: 9, failures: 0 },
    calls: { succeeded: 0, failed: 0 },
    ...fields,
  };
}

/** Any agent that can be chosen. */
const entries: fc.Arbitrary<RegistryEntry> = fc
  .record({
    id: fc.uuid(),
    openTasks: fc.option(fc.nat(50), { nil: undefined }),
    answered: fc.nat(500),
    missed: fc.nat(500),
    succeeded: fc.nat(500),
    failed: fc.nat(500),
    silentMinutes: fc.nat(23 * 60),
  })
  .map(({ id, openTasks, answered, missed, succeeded, failed, silentMinutes }) =>
    anEntry({
      id,
      ...(openTasks !== undefined && { openTasks }),
      health: { state: "up", checks: answered + missed, answered, failures: 0 },
      calls: { succeeded, failed },
      heartbeatAt: new Date(NOW - silentMinutes * MINUTE_MS).toISOString(),
    }),
  );

function ranked(...candidates: readonly RegistryEntry[]): readonly RankedAgent[] {
  return routeToAgent({ skill: "rhyme" }, candidates, NOW).ranked;
}

const scoreOf = (entry: RegistryEntry): number => ranked(entry)[0]!.score;

test("the best agent is first, with a score from 0 to 100 that its factors add up to", () => {
  fc.assert(
    fc.property(fc.array(entries), (candidates) => {
      const found = ranked(...candidates);

      const scores = found.map(({ score }) => score);
      expect(scores).toEqual(scores.toSorted((a, b) => b - a));
      for (const { score, factors } of found) {
        expect(score).toBeGreaterThan(0);
        expect(score).toBeLessThanOrEqual(100);
        expect(factors.map(({ most }) => most)).toEqual([40, 30, 20, 10]);
        expect(factors.every(({ points, most }) => points >= 0 && points <= most)).toBe(true);
        expect(factors.reduce((sum, { points }) => sum + points, 0)).toBeCloseTo(score);
      }
    }),
  );
});

test("the order of the candidates does not matter", () => {
  fc.assert(
    fc.property(fc.uniqueArray(entries, { selector: ({ id }) => id }), (candidates) => {
      const ids = (found: readonly RankedAgent[]) => found.map(({ agent }) => agent.id);

      expect(ids(ranked(...candidates))).toEqual(ids(ranked(...candidates.toReversed())));
    }),
  );
});

test.each<[string, (entry: RegistryEntry) => RegistryEntry]>([
  [
    "a call that succeeded",
    (entry) => ({ ...entry, calls: { ...entry.calls, succeeded: entry.calls.succeeded + 1 } }),
  ],
  [
    "a check that was answered",
    ({ health, ...entry }) => ({
      ...entry,
      health: { ...health, checks: health.checks + 1, answered: health.answered + 1 },
    }),
  ],
  [
    "a task less",
    ({ openTasks, ...entry }) => ({ ...entry, openTasks: Math.max(0, (openTasks ?? 1) - 1) }),
  ],
  [
    "a later heartbeat",
    (entry) => ({
      ...entry,
      heartbeatAt: new Date(Date.parse(entry.heartbeatAt) + MINUTE_MS).toISOString(),
    }),
  ],
])("%s never lowers the score", (_, improve) => {
  fc.assert(
    fc.property(entries, (entry) => {
      expect(scoreOf(improve(entry))).toBeGreaterThanOrEqual(scoreOf(entry));
    }),
  );
});

test.each<[string, (entry: RegistryEntry) => RegistryEntry]>([
  [
    "a call that failed",
    (entry) => ({ ...entry, calls: { ...entry.calls, failed: entry.calls.failed + 1 } }),
  ],
  [
    "a check that was not answered",
    ({ health, ...entry }) => ({ ...entry, health: { ...health, checks: health.checks + 1 } }),
  ],
  ["a task more", ({ openTasks = 1, ...entry }) => ({ ...entry, openTasks: openTasks + 1 })],
  [
    "a minute of silence",
    (entry) => ({
      ...entry,
      heartbeatAt: new Date(Date.parse(entry.heartbeatAt) - MINUTE_MS).toISOString(),
    }),
  ],
])("%s lowers the score", (_, worsen) => {
  fc.assert(
    fc.property(entries, (entry) => {
      expect(scoreOf(worsen(entry))).toBeLessThan(scoreOf(entry));
    }),
  );
});

test("a proven agent ranks above an unknown one, and that above a bad one", () => {
  const proven = anEntry({ id: "a", calls: { succeeded: 9, failed: 1 } });
  const unknown = anEntry({ id: "b" });
  const bad = anEntry({ id: "c", calls: { succeeded: 1, failed: 9 } });

  const found = ranked(bad, unknown, proven);

  expect(found.map(({ agent }) => agent.id)).toEqual(["a", "b", "c"]);
  expect(found[0]!.factors.map(({ reason }) => reason)).toEqual([
    "9 of 10 calls succeeded",
    "it does not say how busy it is",
    "it answered 9 of 9 checks",
    "its last heartbeat was 0 minutes ago",
  ]);
});

test.each([
  [{ skill: "cook" }, {}, 'it has no skill "cook"'],
  [{ tags: ["words", "food"] }, {}, 'it has no tag "food"'],
  [{ text: "poems soup" }, {}, 'nothing about it contains "soup"'],
  [{ self: "https://poet.example" }, {}, "it is the agent that asks"],
  [{ exclude: ["Poet"] }, {}, "it was excluded"],
  [{ exclude: ["https://poet.example"] }, {}, "it was excluded"],
  [{}, { state: "inactive" }, "it has sent no heartbeat since 2026-01-02T00:00:00.000Z"],
  [
    {},
    { health: { state: "down", checks: 9, answered: 6, failures: 3 } },
    "its last 3 health checks failed",
  ],
] as const)(
  "for %j an agent with %j is left out, and the reason is given",
  (query, fields, reason) => {
    const agent = anEntry(fields as Partial<RegistryEntry>);

    expect(routeToAgent(query, [agent], NOW)).toEqual({
      ranked: [],
      excluded: [{ agent, reason }],
    });
  },
);
