import { type Exchange, Failed } from "../verdict.ts";
import type { Opened, StreamItem, WireHeaders } from "../wire/call.ts";
import { MAX_EVENTS } from "../wire/limits.ts";
import type { Transcript } from "../wire/transcript.ts";
import { type SeenEvent, seenEvent } from "./seen.ts";

/** What a stream told, until it ended or had told enough. */
export interface Story {
  readonly events: readonly SeenEvent[];
  readonly items: readonly StreamItem[];
  readonly headers: WireHeaders;
  readonly exchange: Exchange;
  /** Whether the server ended it; otherwise there was more than anybody wants to read. */
  readonly ended: boolean;
}

type Telling = Pick<Opened, "events" | "headers">;

/** Reads a stream to its end, or until `enough` says so. */
export async function readStory(
  { events: items, headers }: Telling,
  transcript: Transcript,
  enough: (event: SeenEvent) => boolean = () => false,
): Promise<Story> {
  const told: StreamItem[] = [];
  const events: SeenEvent[] = [];
  const { sent } = transcript.last;
  const soFar = (): Exchange => {
    const bodies = told.map(({ envelope }) => JSON.stringify(envelope)).join(" ");
    transcript.said(sent);
    return transcript.heard(`a stream of ${told.length} events: ${bodies}`);
  };
  for await (const item of items) {
    told.push(item);
    if (item.error !== undefined) continue;
    const event = seenEvent(item.json);
    if (event === undefined) {
      throw new Failed("events that are a task, a message, or an update of one", soFar());
    }
    events.push(event);
    if (enough(event) || told.length >= MAX_EVENTS) {
      return { events, items: told, headers, exchange: soFar(), ended: false };
    }
  }
  return { events, items: told, headers, exchange: soFar(), ended: true };
}
