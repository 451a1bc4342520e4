import type { Effect } from "../harness/effect.ts";
import type { StoredTask } from "../harness/stored-tasks.ts";
import type { Client } from "./client.ts";
import type { MortalServer } from "../harness/mortal-server.ts";

/** The figures of a run, to print. */
export function summaryOf(facts: {
  readonly seed: number;
  readonly clients: readonly Client[];
  readonly server: MortalServer;
  readonly stored: readonly StoredTask[];
  readonly effects: ReadonlyMap<string, readonly Effect[]>;
  readonly seconds: number;
}): string {
  const { seed, clients, server, stored, effects, seconds } = facts;
  const { kills, hits, startsMs } = server;
  const states = Map.groupBy(stored, ({ record }) => record.state);
  const ends = [...states].map(([state, tasks]) => `${tasks.length} ${state}`).join(", ");
  const sum = (counts: readonly number[]): number => counts.reduce((total, n) => total + n, 0);
  const all = [...effects.values()].flat();
  const repeated = all.length - new Set(all.map(({ by, name }) => `${by} ${name}`)).size;
  const starts = startsMs.toSorted((a, b) => a - b);
  const start = (share: number): string =>
    `${Math.round(starts[Math.floor(share * (starts.length - 1))] ?? 0)} ms`;
  return `
Kill test, seed ${seed}: ${clients.length} tasks, ${kills} kills in ${seconds.toFixed(1)} s
  commit in flight   ${hits} of ${kills} kills (${Math.round((100 * hits) / kills)} %)
  ends               ${ends}
  events             ${sum(stored.map(({ log }) => log.length))} in the logs, ${sum(clients.map(({ caller }) => caller.frames.length))} frames read
  connections lost   ${sum(clients.map(({ caller }) => caller.losses))}
  effects            ${all.length}, of which ${repeated} repeated under their key
  ready after        ${start(0.5)} (median), ${start(1)} (longest)
`;
}
