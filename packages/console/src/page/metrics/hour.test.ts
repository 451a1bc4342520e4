import { describe, expect, test } from "vitest";
import { type Metrics, type Sample, seriesOf, sumEnded, sumModels } from "./hour.ts";

function sample(more: Partial<Sample>): Sample {
  return {
    at: "2026-11-16T07:24:40.000Z",
    running: 1,
    unfinished: 1,
    streams: 0,
    pushPending: 0,
    memoryBytes: 1e8,
    requests: { count: 0, failed: 0 },
    tasks: { started: 0, ended: {} },
    commits: { count: 0 },
    models: [],
    ...more,
  };
}

describe("the numbers of an hour", () => {
  test("are per second, without the step that has not ended", () => {
    const history = [
      sample({ requests: { count: 30, p95Ms: 12, failed: 0 }, running: 1 }),
      sample({ requests: { count: 1, failed: 0 }, running: 2 }),
    ];
    const { requests, requestTime, running } = seriesOf({
      history,
      stepSeconds: 10,
    } as unknown as Metrics);

    expect(requests).toEqual([3]);
    expect(requestTime).toEqual([12]);
    expect(running).toEqual([1, 2]);
  });

  test("are added by agent and model, and the most expensive model is first", () => {
    const one = { agent: "A", model: "m", calls: 1, inputTokens: 10, outputTokens: 1 };
    const priced = { ...one, agent: "B", costUsd: 0.5 };
    const history = [sample({ models: [one, priced] }), sample({ models: [priced, one, one] })];

    expect(sumModels(history)).toEqual([
      { ...priced, calls: 2, inputTokens: 20, outputTokens: 2, costUsd: 1 },
      { ...one, calls: 3, inputTokens: 30, outputTokens: 3 },
    ]);
  });

  test("count the tasks that ended by state", () => {
    const history = [
      sample({ tasks: { started: 1, ended: { completed: 2 } } }),
      sample({ tasks: { started: 1, ended: { completed: 1, failed: 1 } } }),
    ];
    expect(sumEnded(history)).toEqual({ completed: 3, failed: 1 });
  });
});
