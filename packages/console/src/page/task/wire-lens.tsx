import { useEffect, useMemo, useState } from "preact/hooks";
import { CopyButton } from "../kit/copy-button.tsx";
import { JsonTree } from "../kit/json-tree.tsx";
import { LongText } from "../kit/long-text.tsx";
import { Problem } from "../kit/notices.tsx";
import { VirtualRows } from "../kit/virtual-rows.tsx";
import type { LoggedEvent } from "../server/event-log.ts";
import { useResource } from "../server/resource.ts";
import type { LensProps } from "./lens.ts";
import { isGap, kindName } from "./notes.ts";
import { WIRE_FORMS, type WireForm, type WireText, wireText } from "./wire.ts";

/** Any event in each version and binding of A2A, as a client received it. */
export function WireLens(props: LensProps) {
  const { log, seq, go } = props;
  const [form, setForm] = useState<WireForm>("1.0-jsonrpc");
  const entry = log.events.find(seq);
  return (
    <div class="wire">
      <EventList log={log} seq={seq} go={go} />
      <div class="wire-event">
        <div class="chips" role="group" aria-label="Version and binding">
          {WIRE_FORMS.map(({ id, name }) => (
            <button
              key={id}
              type="button"
              class="chip"
              aria-pressed={id === form}
              onClick={() => setForm(id)}
            >
              {name}
            </button>
          ))}
        </div>
        {entry && <WireEvent key={entry.seq} entry={entry} form={form} />}
      </div>
    </div>
  );
}

/** All loaded events, before and after the playhead. */
function EventList({ log, seq, go }: Pick<LensProps, "log" | "seq" | "go">) {
  const entries = [...log.events.upTo(log.events.head)];
  const current = entries.findIndex((entry) => (isGap(entry) ? entry.to : entry.seq) >= seq);
  return (
    <VirtualRows
      label="Events"
      class="wire-list card"
      count={entries.length}
      rowHeight={30}
      current={current < 0 ? undefined : current}
      render={(index) => {
        const entry = entries[index]!;
        if (isGap(entry)) {
          return (
            <button
              type="button"
              class="wire-row muted"
              onClick={() => void log.fill(entry.from, entry.to)}
            >
              {entry.from}–{entry.to} not loaded
            </button>
          );
        }
        const isNote = entry.event.kind.startsWith("internal:");
        return (
          <button
            type="button"
            class="wire-row"
            data-note={isNote}
            aria-current={index === current ? "true" : undefined}
            onClick={() => go(entry.seq)}
          >
            <span class="mono muted">{entry.seq}</span>
            <span>{kindName(entry.event)}</span>
            {isNote && <span class="wire-note">note</span>}
          </button>
        );
      }}
    />
  );
}

interface WireEventProps {
  readonly entry: LoggedEvent;
  readonly form: WireForm;
}

function WireEvent({ entry, form }: WireEventProps) {
  const loaded = useResource(async () => ({ text: await wireText(entry, form), form }), [form]);
  const [isRaw, setRaw] = useState(false);
  useEffect(() => setRaw(form.endsWith("grpc")), [form]);
  const json = loaded.value?.text?.json;
  const parsed = useMemo(
    (): unknown => (json === undefined ? undefined : JSON.parse(json)),
    [json],
  );
  if (loaded.problem) return <Problem problem={loaded.problem} retry={loaded.reload} />;
  if (loaded.value === undefined || loaded.value.form !== form) return null;
  const { text } = loaded.value;
  if (text === undefined) {
    return (
      <div class="card wire-card" data-wire="none">
        <p class="notice">
          This is a note: the agent or the server has recorded it for itself. It is not on the wire.
        </p>
        <JsonTree value={entry.event} openLevels={2} />
      </div>
    );
  }
  return (
    <div class="card wire-card">
      <div class="wire-bar">
        <label class="choice small">
          <input
            type="checkbox"
            checked={isRaw}
            onChange={(event) => setRaw((event.currentTarget as HTMLInputElement).checked)}
          />
          As it was sent
        </label>
        <CopyButton text={() => text.json} label="Copy the JSON" />
      </div>
      {isRaw ? <Sent text={text} form={form} /> : <JsonTree value={parsed} openLevels={4} />}
    </div>
  );
}

function Sent({ text, form }: { readonly text: WireText; readonly form: WireForm }) {
  const { sent } = text;
  return (
    <>
      <pre class="wire-sent" data-wire={form}>
        {typeof sent === "string" ? <LongText text={sent} limit={100_000} /> : hexLines(sent)}
      </pre>
      {form.endsWith("jsonrpc") && (
        <p class="small muted">The id of the response is that of the client's request.</p>
      )}
    </>
  );
}

/** How many bytes of a message are shown. */
const SHOWN_BYTES = 16_384;

/** Bytes as people read them: 16 per line. */
function hexLines(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let start = 0; start < Math.min(bytes.length, SHOWN_BYTES); start += 16) {
    const line = Array.from(bytes.subarray(start, start + 16));
    lines.push(line.map((byte) => byte.toString(16).padStart(2, "0")).join(" "));
  }
  if (bytes.length > SHOWN_BYTES) lines.push(`… ${bytes.length - SHOWN_BYTES} more bytes`);
  return lines.join("\n");
}
