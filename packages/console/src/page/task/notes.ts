import type { AgentEvent, StatusUpdateEvent } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import type { LogGap, LoggedEvent } from "../server/event-log.ts";

// Notes are read as data of any shape: an agent of another maker, or of a later version, may have
// written them.

export type LogEntry = LoggedEvent | LogGap;

export function isGap(entry: LogEntry): entry is LogGap {
  return "to" in entry;
}

export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

export function textField(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" ? value : undefined;
}

export function numberField(fields: Fields, name: string): number | undefined {
  const value = fields[name];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function listField(fields: Fields, name: string): readonly Fields[] {
  const value = fields[name];
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

/** When something happened: when it was committed or, if that is not known, what it says itself. */
export function timeOf({ at, event }: LoggedEvent): number | undefined {
  if (at !== undefined) return at;
  const said =
    event.kind === "status-update"
      ? (event as StatusUpdateEvent).status.timestamp
      : textField(fieldsOf(event), "timestamp");
  const time = said === undefined ? Number.NaN : Date.parse(said);
  return Number.isNaN(time) ? undefined : time;
}

/** The name of an event for people: "tool-start" of "internal:tool-start". */
export function kindName({ kind }: Pick<AgentEvent, "kind">): string {
  return kind.replace(/^internal:/, "");
}
