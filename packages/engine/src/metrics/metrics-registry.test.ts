import { expect, test } from "vitest";
import { MetricsRegistry } from "./metrics-registry.ts";

test("label values are escaped", () => {
  const metrics = new MetricsRegistry();

  metrics.count("limited", ['a"b\\c\nd'], 0.5);

  expect(metrics.text()).toContain('convoke_limits_reached_total{limit="a\\"b\\\\c\\nd"} 0.5\n');
});

test("buckets are cumulative and end with all values", () => {
  const metrics = new MetricsRegistry();

  for (const steps of [1, 3, 3, 1000]) metrics.observe("commitSteps", steps);

  const lines = metrics
    .text()
    .split("\n")
    .filter((line) => line.startsWith("convoke_commit_steps"));
  expect(lines).toEqual([
    ...[1, 1, 3, 3, 3, 3, 3, 3, 3].map(
      (count, index) => `convoke_commit_steps_bucket{le="${2 ** index}"} ${count}`,
    ),
    'convoke_commit_steps_bucket{le="+Inf"} 4',
    "convoke_commit_steps_sum 1007",
    "convoke_commit_steps_count 4",
  ]);
});

test("label values beyond the limit are counted together", () => {
  const metrics = new MetricsRegistry();

  for (let index = 0; index < 10_000; index++) metrics.count("limited", [`limit-${index}`]);

  const lines = metrics.text().match(/^convoke_limits_reached_total.*$/gm) ?? [];
  expect(lines).toHaveLength(501);
  expect(lines.at(-1)).toBe('convoke_limits_reached_total{limit="other"} 9500');
});

test("a gauge is the sum of what its collectors add when it is read", () => {
  const metrics = new MetricsRegistry();
  let open = 1;
  const stop = metrics.collect((add) => add("openStreams", open));
  metrics.collect((add) => add("openStreams", 10));
  const value = (): string | undefined => /^convoke_open_streams (\d+)$/m.exec(metrics.text())?.[1];

  expect(value()).toBe("11");
  open = 2;
  expect(value()).toBe("12");
  stop();
  expect(value()).toBe("10");
});
