import { useMemo, useState } from "preact/hooks";
import { Empty } from "../kit/notices.tsx";
import { formatCount, formatDuration } from "../kit/time.tsx";
import { VirtualRows } from "../kit/virtual-rows.tsx";
import { visibleText } from "../kit/visible-text.tsx";
import type { LensProps } from "./lens.ts";
import { isGap, timeOf } from "./notes.ts";
import { type TimeScale, timeScale } from "./time-scale.ts";
import { ROW_KINDS, type RowKind, type TimelineRow, buildTimeline } from "./timeline.ts";

const KIND_NAMES: Readonly<Record<RowKind, string>> = {
  message: "Messages",
  model: "Model",
  tool: "Tools",
  "sub-agent": "Sub-agents",
  step: "Steps",
  wait: "Waiting",
  output: "Output",
  status: "Status",
  attempt: "Attempts",
  note: "Notes",
  gap: "Not loaded",
};

/** What happened when, and how long it took. It shows all of it, before and after the playhead. */
export function TimelineLens({ seq, go, log }: LensProps) {
  const version = log.version.value;
  const entries = useMemo(() => [...log.events.upTo(log.events.head)], [log, version]);
  const rows = useMemo(() => buildTimeline(entries), [entries]);
  const scale = useMemo(
    () => timeScale(entries.flatMap((entry) => (isGap(entry) ? [] : (timeOf(entry) ?? [])))),
    [entries],
  );
  const [filter, setFilter] = useState<RowKind | "failed" | undefined>();
  const shown = useMemo(() => rows.filter((row) => matches(row, filter)), [rows, filter]);
  const current = shown.findLastIndex((row) => row.from <= seq);
  const entry = log.events.find(seq);
  const now = entry && timeOf(entry);
  const choose = (row: TimelineRow): void => {
    if (row.kind === "gap") void log.fill(row.from, row.to);
    else go(row.to);
  };
  return (
    <>
      <Filters rows={rows} filter={filter} choose={setFilter} />
      <Legend scale={scale} />
      {shown.length === 0 ? (
        <Empty title="No such rows" />
      ) : (
        <VirtualRows
          label="Timeline"
          class="timeline card"
          count={shown.length}
          rowHeight={globalThis.innerWidth <= 760 ? 52 : 36}
          current={current < 0 ? undefined : current}
          render={(index) => (
            <Row
              row={shown[index]!}
              scale={scale}
              isCurrent={index === current}
              isLater={shown[index]!.from > seq}
              now={now}
              choose={() => choose(shown[index]!)}
            />
          )}
        />
      )}
    </>
  );
}

function matches(row: TimelineRow, filter: RowKind | "failed" | undefined): boolean {
  return filter === undefined || (filter === "failed" ? row.isFailed : row.kind === filter);
}

interface FiltersProps {
  readonly rows: readonly TimelineRow[];
  readonly filter: RowKind | "failed" | undefined;
  readonly choose: (filter: RowKind | "failed" | undefined) => void;
}

function Filters({ rows, filter, choose }: FiltersProps) {
  const counts = ROW_KINDS.map((kind) => ({
    id: kind,
    name: KIND_NAMES[kind],
    count: rows.filter((row) => row.kind === kind).length,
  }));
  const failed = rows.filter(({ isFailed }) => isFailed).length;
  const chips = [...counts, { id: "failed" as const, name: "Failed", count: failed }];
  return (
    <div class="chips" role="group" aria-label="Show only">
      <button
        type="button"
        class="chip"
        aria-pressed={filter === undefined}
        onClick={() => choose(undefined)}
      >
        All <span class="chip-count">{formatCount(rows.length)}</span>
      </button>
      {chips
        .filter(({ id, count }) => count > 0 || id === filter)
        .map(({ id, name, count }) => (
          <button
            key={id}
            type="button"
            class="chip"
            aria-pressed={filter === id}
            onClick={() => choose(filter === id ? undefined : id)}
          >
            {name} <span class="chip-count">{formatCount(count)}</span>
          </button>
        ))}
    </div>
  );
}

function Legend({ scale }: { readonly scale: TimeScale }) {
  const idleMs = scale.idle.reduce((sum, { ms }) => sum + ms, 0);
  return (
    <p class="small muted">
      {formatDuration(scale.totalMs)} in all
      {idleMs > 0 && `, of which ${formatDuration(idleMs)} idle time is drawn short (hatched)`}
    </p>
  );
}

interface RowProps {
  readonly row: TimelineRow;
  readonly scale: TimeScale;
  readonly isCurrent: boolean;
  /** Whether it is after the playhead. */
  readonly isLater: boolean;
  /** The time of the playhead. */
  readonly now: number | undefined;
  readonly choose: () => void;
}

function Row({ row, scale, isCurrent, isLater, now, choose }: RowProps) {
  const took = durationOf(row);
  const range = row.from === row.to ? `${row.from}` : `${row.from}–${row.to}`;
  return (
    <button
      type="button"
      class="timeline-row"
      data-kind={row.kind}
      data-failed={row.isFailed}
      data-later={isLater}
      aria-current={isCurrent ? "true" : undefined}
      title={`Events ${range}`}
      onClick={choose}
    >
      <span class="timeline-name">
        <span class="timeline-kind">{KIND_NAMES[row.kind]}</span>
        <span class="timeline-text">{visibleText(row.name.slice(0, 120))}</span>
        <span class="timeline-detail">{describe(row)}</span>
      </span>
      <span class="timeline-track">
        {scale.idle.map(({ start, end }) => (
          <span key={start} class="timeline-idle" style={placeAt(start, end)} />
        ))}
        <Bar row={row} scale={scale} />
        {now !== undefined && (
          <span class="timeline-now" style={{ left: `${scale.place(now) * 100}%` }} />
        )}
      </span>
      <span class="timeline-took">{took === undefined ? "" : formatDuration(took)}</span>
    </button>
  );
}

function describe({ kind, detail, from, to, chunks }: TimelineRow): string {
  if (kind === "gap") return `events ${formatCount(from)} to ${formatCount(to)}, load them`;
  const count = kind === "model" && chunks > 0 ? `${formatCount(chunks)} chunks` : "";
  return visibleText([detail.slice(0, 160), count].filter(Boolean).join(", "));
}

function durationOf({ start, end, isDone }: TimelineRow): number | undefined {
  if (start === undefined || end === undefined || !isDone || end === start) return undefined;
  return end - start;
}

function Bar({ row, scale }: Pick<RowProps, "row" | "scale">) {
  if (row.start === undefined) return null;
  const start = scale.place(row.start);
  // What has not ended reaches to the end.
  const end = row.end === undefined ? 1 : scale.place(row.end);
  return (
    <span class={row.isDone ? "timeline-bar" : "timeline-bar open"} style={placeAt(start, end)} />
  );
}

function placeAt(start: number, end: number): { readonly left: string; readonly width: string } {
  return { left: `${start * 100}%`, width: `${Math.max(0, end - start) * 100}%` };
}
