import { printable } from "@convoke/protocol/internal";
import { useEffect, useRef, useState } from "preact/hooks";
import { download } from "../kit/download.ts";
import { Icon } from "../kit/icon.tsx";
import { Problem } from "../kit/notices.tsx";
import {
  type CheckProgress,
  type CheckReport,
  type CheckSection,
  type ProbeResult,
  runCheck,
} from "./check-run.ts";

/** What the panel shows: nothing yet, a check that runs, its report, or why there is none. */
interface CheckState {
  readonly progress?: CheckProgress | "starting";
  readonly report?: CheckReport;
  readonly problem?: Error;
}

/** Runs the conformance kit against the agent. It sends messages, so it starts only on request. */
export function CheckPanel({ agentId }: { readonly agentId: string }) {
  const [state, setState] = useState<CheckState>({});
  const abort = useRef<AbortController>(null);
  useEffect(() => () => abort.current?.abort(), [agentId]);
  const start = (...only: readonly string[]): void => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    setState({ progress: "starting" });
    runCheck({ agent: agentId, only }, { signal, onProgress: (progress) => setState({ progress }) })
      .then((report) => setState({ report }))
      .catch((problem: Error) => setState(signal.aborted ? {} : { problem }));
  };
  const { progress, report, problem } = state;
  const status = progress ? "running" : report ? "ready" : problem ? "error" : "idle";
  return (
    <section class="card agent-section" aria-label="Conformance" data-check={status}>
      <div class="agent-check-head">
        <h2>Conformance to A2A</h2>
        {progress ? (
          <button type="button" class="button" onClick={() => abort.current?.abort()}>
            <Icon name="stop" size={16} /> Stop
          </button>
        ) : (
          <>
            <button type="button" class="button" onClick={() => start("card")}>
              Check the card
            </button>
            <button type="button" class="button" onClick={() => start()}>
              Check everything
            </button>
          </>
        )}
      </div>
      <p class="muted small">
        A check sends messages to the agent, which begin tasks: one on each interface of its card,
        or many if everything is checked.
      </p>
      {progress && <Progress progress={progress} />}
      {problem && <Problem problem={problem} />}
      {report && <Report {...report} />}
    </section>
  );
}

function Progress({ progress }: { readonly progress: CheckProgress | "starting" }) {
  if (progress === "starting") return <progress aria-label="Starting the check" />;
  const { done, total, place, id } = progress;
  return (
    <div class="agent-progress">
      <progress max={total} value={done} aria-label="Progress of the check" />
      <span class="muted small">
        {done} of {total}, {printable(place)}: {id}
      </span>
    </div>
  );
}

function Report({ counts, sections, junit }: CheckReport) {
  const { passed, failed, skipped } = counts;
  return (
    <div class="agent-report">
      <p role="status">
        <strong>{failed === 0 ? "No probe failed." : `${failed} failed.`}</strong> {passed} passed,{" "}
        {skipped} not tested.{" "}
        <button
          type="button"
          class="button quiet"
          onClick={() =>
            download("convoke-check.xml", new Blob([junit], { type: "application/xml" }))
          }
        >
          <Icon name="download" size={16} /> Save as JUnit
        </button>
      </p>
      {sections.map((section, place) => (
        <Section key={place} {...section} />
      ))}
    </div>
  );
}

function Section({ name, url, counts, results, skipped }: CheckSection) {
  const failed = results.filter(({ outcome }) => outcome === "failed");
  const others = results.filter(({ outcome }) => outcome !== "failed");
  return (
    <details class="agent-part" open={failed.length > 0}>
      <summary>
        <strong>{printable(name)}</strong> <span class="mono">{printable(url)}</span>{" "}
        {failed.length > 0 && <span class="badge agent-bad">{failed.length} failed</span>}{" "}
        <span class="muted small">
          {skipped === undefined
            ? `${counts.passed} passed, ${counts.skipped} not tested`
            : `not tested: ${printable(skipped)}`}
        </span>
      </summary>
      {failed.map((result) => (
        <Failure key={result.id} {...result} />
      ))}
      <ul class="agent-probes">
        {others.map(({ id, says, outcome, reason }) => (
          <li key={id} class="small">
            <span class={`badge ${outcome === "passed" ? "agent-good" : ""}`}>
              {outcome === "passed" ? "Passed" : "Not tested"}
            </span>{" "}
            <span class="mono">{id}</span>{" "}
            <span class="muted">
              {says}
              {reason !== undefined && ` (${printable(reason)})`}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Failure({ id, level, section, says, ...seen }: ProbeResult) {
  const facts = { Sent: seen.sent, Received: seen.received, Expected: seen.expected };
  return (
    <article class="agent-failure">
      <h3>
        <span class="badge agent-bad">{level}</span> <span class="mono">{id}</span>{" "}
        <span class="muted small">{section}</span>
      </h3>
      <p class="small">{says}</p>
      <dl class="agent-facts">
        {Object.entries(facts).map(([name, text]) => (
          <>
            <dt class="muted small">{name}</dt>
            <dd class="mono">{printable(text ?? "")}</dd>
          </>
        ))}
      </dl>
    </article>
  );
}
