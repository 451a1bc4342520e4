import { oneLine } from "@convoke/protocol/internal";
import { useEffect } from "preact/hooks";
import { Empty, Loading, Problem } from "../kit/notices.tsx";
import { STATE_NAMES } from "../kit/state-badge.tsx";
import { formatCost, formatCount, formatDuration } from "../kit/time.tsx";
import { about } from "../server/about.ts";
import { useResource } from "../server/resource.ts";
import { ServerProblem, ask } from "../server/session.ts";
import { Chart } from "./chart.tsx";
import { type Metrics, type ModelNumbers, seriesOf, sumEnded, sumModels } from "./hour.ts";

/** The length of a step of the history. */
const REFRESH_MS = 10_000;

/** The numbers of the last hour. */
export function MetricsPage() {
  const metrics = useResource((signal) => ask<Metrics>("/convoke/metrics", { signal }), []);
  const { value, problem, status, reload } = metrics;
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [reload]);
  return (
    <div class="page" data-status={status}>
      <div class="page-head">
        <h1>Metrics</h1>
        {value && (
          <span class="muted small">
            This process, up for {formatDuration(value.uptimeSeconds * 1000)}
          </span>
        )}
      </div>
      {problem && <MetricsProblem problem={problem} retry={reload} />}
      {!value && !problem && <Loading rows={6} />}
      {value && (
        <>
          <Now {...value} />
          <Charts {...value} />
          <Models models={sumModels(value.history)} />
        </>
      )}
    </div>
  );
}

function MetricsProblem({
  problem,
  retry,
}: {
  readonly problem: Error;
  readonly retry: () => void;
}) {
  const status = problem instanceof ServerProblem ? problem.status : 0;
  if (status === 403) return <Empty title="Metrics are for operators of this server" />;
  if (status === 404 || about.value?.features.metrics === false)
    return <Empty title="This server measures nothing" />;
  return <Problem problem={problem} retry={retry} />;
}

function Now({ now, history }: Metrics) {
  const ended = sumEnded(history);
  return (
    <>
      {now.problem !== undefined && (
        <p class="problem" role="alert">
          The server is not ready: {oneLine(now.problem)}
        </p>
      )}
      <dl class="metrics-now">
        <Figure name="Running" value={formatCount(now.running)} />
        <Figure name="Waiting for input" value={formatCount(now.waiting)} />
        <Figure
          name="Unfinished"
          value={formatCount(now.unfinished)}
          detail={byState(now.byState)}
        />
        <Figure
          name="Ended in the last hour"
          value={formatCount(Object.values(ended).reduce((sum, count) => sum + count, 0))}
          detail={byState(ended)}
        />
        <Figure name="Open streams" value={formatCount(now.streams)} />
        <Figure
          name="Pushes to deliver"
          value={formatCount(now.push.pending)}
          detail={
            now.push.pending === 0 ? "" : `oldest ${formatDuration(now.push.oldestSeconds * 1000)}`
          }
        />
        <Figure
          name="Memory"
          value={formatBytes(now.memory.rssBytes)}
          detail={`heap ${formatBytes(now.memory.heapUsedBytes)}`}
        />
      </dl>
    </>
  );
}

function byState(counts: Readonly<Record<string, number>>): string {
  const names: Readonly<Record<string, string>> = STATE_NAMES;
  return Object.entries(counts)
    .map(([state, count]) => `${formatCount(count)} ${(names[state] ?? state).toLowerCase()}`)
    .join(", ");
}

interface FigureProps {
  readonly name: string;
  readonly value: string;
  readonly detail?: string;
}

function Figure({ name, value, detail = "" }: FigureProps) {
  return (
    <div class="card metrics-number">
      <dt class="muted small">{name}</dt>
      <dd>
        <span class="metrics-value">{value}</span>
        {detail !== "" && <span class="muted small metrics-detail">{detail}</span>}
      </dd>
    </div>
  );
}

function Charts(metrics: Metrics) {
  const series = seriesOf(metrics);
  const { requests, requestTime, running, started, failed } = series;
  return (
    <section class="metrics-charts" aria-label="The last hour">
      <Chart title="Requests" series={requests} format={perSecond} />
      <Chart title="Time of requests (p95)" series={requestTime} format={formatTime} />
      <Chart title="Running tasks" series={running} format={formatCount} />
      <Chart title="Tasks started" series={started} format={perSecond} />
      <Chart title="Tasks failed" series={failed} format={perSecond} kind="bad" />
      <Chart title="Open streams" series={series.streams} format={formatCount} />
      <Chart title="Commits" series={series.commits} format={perSecond} />
      <Chart title="Time of commits (p95)" series={series.commitTime} format={formatTime} />
      <Chart title="Tokens" series={series.tokens} format={perSecond} kind="violet" />
      <Chart title="Pushes to deliver" series={series.pushPending} format={formatCount} />
      <Chart title="Memory" series={series.memory} format={formatBytes} />
    </section>
  );
}

function perSecond(value: number): string {
  return `${value === 0 || value >= 10 ? formatCount(Math.round(value)) : value.toPrecision(2)}/s`;
}

function formatTime(ms: number): string {
  return ms < 10 ? `${ms.toPrecision(2)} ms` : formatDuration(ms);
}

function formatBytes(bytes: number): string {
  return `${formatCount(Math.round(bytes / 1e6))} MB`;
}

function Models({ models }: { readonly models: readonly ModelNumbers[] }) {
  return (
    <section class="card metrics-models" aria-label="Models">
      <h2>Models in the last hour</h2>
      {models.length === 0 ? (
        <p class="muted small">No model was called.</p>
      ) : (
        <div class="metrics-scroll" tabIndex={0} role="region" aria-label="Models by agent">
          <table class="metrics-table">
            <thead>
              <tr>
                {["Agent", "Model", "Calls", "Tokens in", "Tokens out", "Cost"].map((name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {models.map((row) => (
                <ModelRow key={row.agent + row.model} {...row} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function ModelRow({ agent, model, calls, inputTokens, outputTokens, costUsd }: ModelNumbers) {
  return (
    <tr>
      <th scope="row">{oneLine(agent, 60)}</th>
      <td class="mono">{oneLine(model, 80)}</td>
      {[calls, inputTokens, outputTokens].map((count, place) => (
        <td key={place}>{formatCount(count)}</td>
      ))}
      <td>{costUsd === undefined ? "–" : formatCost(costUsd)}</td>
    </tr>
  );
}
