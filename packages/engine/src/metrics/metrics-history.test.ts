import { expect, test } from "vitest";
import { MetricsHistory } from "./metrics-history.ts";
import { MetricsRegistry } from "./metrics-registry.ts";

const GAUGES = { running: 1, unfinished: 2, streams: 3, pushPending: 4, memoryBytes: 5 };

function aHistory() {
  const metrics = new MetricsRegistry();
  return { metrics, history: new MetricsHistory(metrics, () => GAUGES) };
}

test("a sample has what happened since the one before, and the last one what happens now", () => {
  const { metrics, history } = aHistory();
  metrics.count("tasksEnded", ["completed"], 2);
  history.sample(10_000);
  metrics.count("tasksEnded", ["completed"]);
  metrics.count("tasksEnded", ["failed"]);
  metrics.count("requests", ["jsonrpc", "sendMessage", "ok"], 3);
  metrics.count("requests", ["jsonrpc", "sendMessage", "InvalidParams"]);
  metrics.count("modelTokens", ["Poet", "m", "input"], 100);
  metrics.count("modelCost", ["Poet", "m"], 0.5);

  const [first, second] = history.read(15_000);

  expect(first).toMatchObject({ at: 10_000, ...GAUGES, tasks: { ended: { completed: 2 } } });
  expect(second).toEqual({
    at: 15_000,
    ...GAUGES,
    requests: { count: 0, failed: 1 },
    tasks: { started: 0, ended: { completed: 1, failed: 1 } },
    commits: { count: 0 },
    models: [
      { agent: "Poet", model: "m", calls: 0, inputTokens: 100, outputTokens: 0, costUsd: 0.5 },
    ],
  });
});

test("durations are estimated within the buckets of the step alone", () => {
  const { metrics, history } = aHistory();
  for (let n = 0; n < 100; n++) metrics.observe("requestSeconds", 50, ["rest", "getTask"]);
  history.sample(10_000);
  for (let n = 0; n < 90; n++) metrics.observe("requestSeconds", 0.02, ["rest", "getTask"]);
  for (let n = 0; n < 10; n++) metrics.observe("requestSeconds", 0.4, ["jsonrpc", "getTask"]);

  const { requests } = history.read(20_000).at(-1)!;

  expect(requests).toEqual({ count: 100, failed: 0, p50Ms: expect.any(Number), p95Ms: 375 });
  expect(requests.p50Ms).toBeGreaterThan(10);
  expect(requests.p50Ms).toBeLessThan(25);
});

test("no more than an hour is kept", () => {
  const { history } = aHistory();

  for (let n = 1; n <= 500; n++) history.sample(n * history.stepMs);

  const samples = history.read(500 * history.stepMs);
  expect(samples).toHaveLength(361);
  expect(samples[0]!.at).toBe(141 * history.stepMs);
});
