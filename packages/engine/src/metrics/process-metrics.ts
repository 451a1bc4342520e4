import { watchRefusals } from "@convoke/egress";
import type { Metrics } from "@convoke/protocol";
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";

const QUANTILES = [50, 99, 100];

/**
 * Measures the process: its resources, and the requests that its egress policies refuse, which are
 * created in many places, some of them before there is a server. The event loop is observed from the first time that the metrics are read:
 * its timer would wake a process whose metrics nobody reads. Returns a function that ends it.
 */
export function collectProcessMetrics(metrics: Metrics): () => void {
  const endRefusals = watchRefusals((reason) => metrics.count("egressRefused", [reason]));
  let delay: IntervalHistogram | undefined;
  const end = metrics.collect((add) => {
    const { user, system } = process.cpuUsage();
    add("residentBytes", process.memoryUsage.rss());
    add("cpuSeconds", (user + system) / 1e6);
    for (const quantile of QUANTILES) {
      const nanoseconds = delay === undefined || delay.count === 0 ? 0 : delay.percentile(quantile);
      add("loopLag", nanoseconds / 1e9, [String(quantile / 100)]);
    }
    delay ??= observed();
    delay.reset();
  });
  return () => {
    delay?.disable();
    endRefusals();
    end();
  };
}

function observed(): IntervalHistogram {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  return delay;
}
