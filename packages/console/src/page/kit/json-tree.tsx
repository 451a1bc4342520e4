import { isObject, printableJson } from "@convoke/protocol/internal";
import { useState } from "preact/hooks";
import { LongText } from "./long-text.tsx";
import { formatCount } from "./time.tsx";

/** How many entries of an object or array are shown at once. */
const ENTRIES = 100;

/** Longer strings are shown in part. */
const STRING_LENGTH = 400;

interface JsonTreeProps {
  readonly value: unknown;
  readonly name?: string;
  /** How many levels are open at first. */
  readonly openLevels?: number;
}

/** A JSON value that can be unfolded level by level. What is folded has no elements. */
export function JsonTree({ value, name, openLevels = 1 }: JsonTreeProps) {
  return (
    <div class="json-tree">
      <Node value={value} name={name} openLevels={openLevels} />
    </div>
  );
}

interface NodeProps {
  readonly value: unknown;
  readonly name: string | undefined;
  readonly openLevels: number;
}

function Node({ value, name, openLevels }: NodeProps) {
  const entries = entriesOf(value);
  if (entries === undefined || entries.length === 0) {
    return (
      <div class="json-leaf">
        <Name name={name} />
        <Leaf value={value} />
      </div>
    );
  }
  return <Branch value={value} name={name} entries={entries} openLevels={openLevels} />;
}

type Entries = readonly (readonly [string, unknown])[];

function entriesOf(value: unknown): Entries | undefined {
  if (Array.isArray(value)) return value.map((item, place) => [String(place), item as unknown]);
  return isObject(value) ? Object.entries(value) : undefined;
}

function Branch({ value, name, entries, openLevels }: NodeProps & { readonly entries: Entries }) {
  const [isOpen, setOpen] = useState(openLevels > 0);
  const [count, setCount] = useState(ENTRIES);
  return (
    <details
      class="json-branch"
      open={isOpen}
      onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}
    >
      <summary>
        <Name name={name} />
        <span class="json-size">{describe(value, entries)}</span>
      </summary>
      {isOpen && (
        <div class="json-entries">
          {entries.slice(0, count).map(([key, item]) => (
            <Node key={key} name={key} value={item} openLevels={openLevels - 1} />
          ))}
          {entries.length > count && (
            <button type="button" class="more" onClick={() => setCount(count + ENTRIES * 10)}>
              Show more ({formatCount(entries.length - count)} left)
            </button>
          )}
        </div>
      )}
    </details>
  );
}

/** A few keys tell more than a number. */
function describe(value: unknown, entries: Entries): string {
  if (Array.isArray(value)) return `[${formatCount(entries.length)}]`;
  const keys = entries.slice(0, 4).map(([key]) => key.slice(0, 24));
  return `{ ${keys.join(", ")}${entries.length > keys.length ? ", …" : ""} }`;
}

function Name({ name }: { readonly name: string | undefined }) {
  if (name === undefined) return null;
  return <span class="json-name">{escaped(name)}: </span>;
}

/** A string as in JSON, without its quotes. */
function escaped(text: string): string {
  return printableJson(text).slice(1, -1);
}

function Leaf({ value }: { readonly value: unknown }) {
  if (typeof value === "string") {
    return (
      <span class="json-string">
        "<LongText text={value} limit={STRING_LENGTH} write={escaped} />"
      </span>
    );
  }
  return <span class="json-value">{printableJson(value) ?? "undefined"}</span>;
}
