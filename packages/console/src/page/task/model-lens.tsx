import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { LongText } from "../kit/long-text.tsx";
import { Empty } from "../kit/notices.tsx";
import { formatCost, formatCount, formatDuration } from "../kit/time.tsx";
import { SomeOf } from "../kit/some-of.tsx";
import { visibleLine, visibleText } from "../kit/visible-text.tsx";
import type { LensProps } from "./lens.ts";
import { type ModelCall, findModelCalls, total } from "./model-calls.ts";

const SHOWN = 100;

/** What the agent asked of models, what they answered, and what that cost. */
export function ModelLens({ entries, go }: LensProps) {
  const calls = useMemo(() => findModelCalls(entries), [entries]);
  if (calls.length === 0) {
    return (
      <Empty title="No model calls">
        <p class="small">This task has not used a model, or you may not see its notes.</p>
      </Empty>
    );
  }
  return (
    <>
      <Totals calls={calls} />
      <ol class="calls">
        <SomeOf
          items={calls}
          limit={SHOWN}
          render={(call) => (
            <li class="card call" data-outcome={call.outcome}>
              <Call call={call} go={go} />
            </li>
          )}
        />
      </ol>
    </>
  );
}

function Totals({ calls }: { readonly calls: readonly ModelCall[] }) {
  const failed = calls.filter(({ outcome }) => outcome === "failed").length;
  return (
    <dl class="figures card">
      <Figure name="Calls">{formatCount(calls.length)}</Figure>
      {failed > 0 && <Figure name="Failed">{formatCount(failed)}</Figure>}
      <Figure name="Tokens in">{count(total(calls, "inputTokens"))}</Figure>
      <Figure name="Tokens out">{count(total(calls, "outputTokens"))}</Figure>
      <Figure name="Cached">{count(total(calls, "cachedInputTokens"))}</Figure>
      <Figure name="Thought">{count(total(calls, "reasoningTokens"))}</Figure>
      <Figure name="Cost">{cost(total(calls, "costUsd"))}</Figure>
    </dl>
  );
}

function Call({ call, go }: { readonly call: ModelCall; readonly go: LensProps["go"] }) {
  return (
    <>
      <p class="call-head">
        <button
          type="button"
          class="story-seq mono"
          aria-label={`Stand at event ${call.seq}`}
          onClick={() => go(call.seq)}
        >
          {call.seq}
        </button>
        <code>{visibleText(call.model)}</code>
        {call.attempt > 1 && <span class="badge">attempt {call.attempt}</span>}
        <span class={`outcome ${call.outcome}`}>{outcomeText(call)}</span>
      </p>
      <dl class="figures">
        <Figure name="In">{count(call.inputTokens)}</Figure>
        <Figure name="Out">{count(call.outputTokens)}</Figure>
        {call.cachedInputTokens !== undefined && (
          <Figure name="Cached">{count(call.cachedInputTokens)}</Figure>
        )}
        {call.reasoningTokens !== undefined && (
          <Figure name="Thought">{count(call.reasoningTokens)}</Figure>
        )}
        <Figure name="Cost">{cost(call.costUsd)}</Figure>
        <Figure name="First token">{duration(call.firstMs)}</Figure>
        <Figure name="Latency">{duration(call.durationMs)}</Figure>
      </dl>
      {call.problem !== undefined && <Failure call={call} />}
      {call.trimmed > 0 && (
        <p class="small muted">{formatCount(call.trimmed)} old entries were left out.</p>
      )}
      {call.thoughts !== "" && (
        <details class="thought">
          <summary>Thoughts</summary>
          <p class="prose">
            <LongText text={call.thoughts} />
          </p>
        </details>
      )}
      {call.said !== "" && (
        <p class="prose">
          <LongText text={call.said} limit={600} />
        </p>
      )}
      <SomeOf
        items={call.tools}
        limit={SHOWN}
        render={({ name, input }) => (
          <p class="tool-use mono">
            {visibleLine(name, 100)}(<LongText text={input} limit={300} />)
          </p>
        )}
      />
    </>
  );
}

function outcomeText({ outcome, finish }: ModelCall): string {
  if (outcome === "running") return "has not ended";
  return outcome === "failed" ? "failed" : visibleText(finish ?? "answered");
}

function Failure({ call: { problem, waitMs, nextModel } }: { readonly call: ModelCall }) {
  return (
    <p class="story-line bad">
      {visibleText(problem ?? "")}.
      {waitMs !== undefined && waitMs > 0 && ` Tried again after ${formatDuration(waitMs)}.`}
      {nextModel !== undefined && ` Then ${visibleText(nextModel)} was used.`}
    </p>
  );
}

function Figure({
  name,
  children,
}: {
  readonly name: string;
  readonly children: ComponentChildren;
}) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function count(value: number | undefined): string {
  return value === undefined ? "–" : formatCount(value);
}

function cost(value: number | undefined): string {
  return value === undefined ? "–" : formatCost(value);
}

function duration(value: number | undefined): string {
  return value === undefined ? "–" : formatDuration(value);
}
