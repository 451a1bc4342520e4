import { setImmediate as nextTurn } from "node:timers/promises";
import {
  A2AError,
  CODECS,
  type Caller,
  SSE_KEEP_ALIVE,
  SSE_RECONNECT,
  invalidParams,
  isTerminal,
  sseFrame,
  sseNamedFrame,
} from "@convoke/protocol";
import {
  type Engine,
  type FileView,
  type LogView,
  type Seq,
  findTaskRecord,
  loggedEventText,
  readLogPage,
} from "@convoke/engine";
import type { App } from "../app.ts";
import { type EntryReader, EventStream, type Framing, observerOf } from "../event-stream.ts";
import { SSE_HEADERS } from "../sse.ts";
import { unscopedOwner } from "../../guard/guard.ts";
import { type HttpRequest, type HttpResponse, header, jsonResponse } from "../../http/exchange.ts";
import { admit, parseWhole } from "./admit.ts";

const PAGE = 256;

const MAX_PAGE = 1000;

/** A page of JSON ends with the event at which it reaches this many characters. */
const PAGE_LENGTH = 1024 * 1024;

/**
 * Returns a page of a task's log, or follows the log if the client accepts server-sent events. Both
 * read the store, so they show only what is durable, with the time of its commit.
 */
export async function handleLog(
  app: App,
  taskId: string,
  { request, caller: identified }: { readonly request: HttpRequest; readonly caller: Caller },
): Promise<HttpResponse> {
  const params = { taskId };
  const admitted = await admit(app, "getTask", { request, caller: identified, params });
  const view = parseView(request.query, app.isOperator(admitted.caller));
  const record = await findTaskRecord(taskId, { engine: app.engine, ...admitted });
  const { owner: reader } = admitted.caller;
  if (/\btext\/event-stream\b/i.test(header(request, "accept") ?? "")) {
    const after = parseCursor(request, record.head);
    const files = app.fileView(request);
    const isEnded = isTerminal(record.state);
    return followLog(app, { taskId, reader, view, files, after, isEnded });
  }
  const { contextId, agent, state, head, compacted, owner } = record;
  const after = parseWhole(request.query, "after") ?? 0;
  const limit = parseLimit(request.query);
  const files = app.fileView(request);
  const page = { ...view, after, limit, maxLength: PAGE_LENGTH, files };
  const { events, last, isEmpty } = await readLogPage(app.engine, taskId, page);
  const about = {
    id: taskId,
    contextId,
    ...(admitted.owners && unscopedOwner(owner)),
    agent,
    state,
    head,
    ...(compacted && { compacted }),
    ...(!isEmpty && last < head && { next: last }),
  };
  const list = events.map(loggedEventText).join(",");
  return jsonResponse(200, `${JSON.stringify(about).slice(0, -1)},"events":[${list}]}`);
}

/** Notes are for operators: they show how the agent works, and not only what it says. */
function parseView(query: URLSearchParams, isOperator: boolean): LogView {
  const notes = query.get("notes");
  const join = query.get("join");
  if (notes !== null && notes !== "true" && notes !== "false") {
    throw invalidParams("notes", "must be true or false");
  }
  if (join !== null && join !== "chunks") throw invalidParams("join", 'must be "chunks"');
  if (notes === "true" && !isOperator) {
    throw new A2AError("Forbidden", "the notes in a log are for operators", {
      details: { reason: "forbidden" },
    });
  }
  return { hasNotes: isOperator && notes !== "false", joinsChunks: join === "chunks" };
}

function parseLimit(query: URLSearchParams): number {
  const limit = parseWhole(query, "limit") ?? PAGE;
  if (limit >= 1 && limit <= MAX_PAGE) return limit;
  throw invalidParams("limit", `must be a whole number from 1 to ${MAX_PAGE}`);
}

/** Where to follow the log from: the last event that the client has seen, or else the query says it. */
function parseCursor(request: HttpRequest, head: Seq): Seq {
  const lastEventId = header(request, "last-event-id");
  const given = lastEventId ?? request.query.get("after") ?? "0";
  if (/^\d{1,9}$/.test(given) && Number(given) <= head) return Number(given);
  const field = lastEventId === undefined ? "after" : "Last-Event-ID";
  throw invalidParams(field, `must be a position of this log, from 0 to ${head}`);
}

interface Following {
  readonly taskId: string;
  /** The owner that reads. */
  readonly reader: string;
  readonly view: LogView;
  readonly files: FileView;
  readonly after: Seq;
  /** Whether the task has ended already. */
  readonly isEnded: boolean;
}

async function followLog(app: App, following: Following): Promise<HttpResponse> {
  const { engine, keepAlive } = app;
  const { taskId, reader: owner, isEnded } = following;
  const reader = new StoredLogReader(engine, following);
  // 204 is how a server tells clients of server-sent events to stop reconnecting.
  if (isEnded && !(await reader.hasEvents())) return { status: 204, headers: {}, body: "" };
  engine.openStreams.admit({ taskId: observerOf(taskId), owner });
  const body = new EventStream<LogText>({
    source: { engine, taskId, owner },
    reader,
    framing: logFraming(app),
    keepAlive,
    isObserver: true,
  });
  return { status: 200, headers: SSE_HEADERS, body };
}

/** An event, ready to be sent. */
interface LogText {
  readonly seq: Seq;
  readonly json: string;
}

/** A page of a stream ends with the event at which it reaches this many characters. */
const STREAM_LENGTH = 64 * 1024;

/** Reads a log from the store until its task ends. It holds nothing but a cursor (G8). */
class StoredLogReader implements EntryReader<LogText> {
  readonly #engine: Engine;
  readonly #following: Following;
  #cursor: Seq;
  #hasEnd: boolean;
  #isEnded = false;
  #opening: readonly LogText[] = [];

  constructor(engine: Engine, following: Following) {
    this.#engine = engine;
    this.#following = following;
    this.#cursor = following.after;
    this.#hasEnd = following.isEnded;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Reads ahead to find out whether anything follows. */
  async hasEvents(): Promise<boolean> {
    this.#opening = await this.next();
    return this.#opening.length > 0;
  }

  opening(): readonly LogText[] {
    const opening = this.#opening;
    this.#opening = [];
    return opening;
  }

  async next(): Promise<readonly LogText[]> {
    const { taskId, view, files } = this.#following;
    for (;;) {
      const request = {
        ...view,
        files,
        after: this.#cursor,
        limit: PAGE,
        maxLength: STREAM_LENGTH,
      };
      const page = await readLogPage(this.#engine, taskId, request);
      this.#cursor = page.last;
      this.#hasEnd ||= page.hasEnd;
      this.#isEnded = this.#hasEnd && page.isEmpty;
      if (page.events.length > 0 || page.isEmpty) {
        return page.events.map((event) => ({ seq: event.seq, json: loggedEventText(event) }));
      }
      // A page of notes only: other requests get a turn before the next one.
      await nextTurn();
    }
  }
}

function logFraming(app: App): Framing<LogText> {
  const frame = ({ seq, json }: LogText): string => sseFrame(seq, "", json, "");
  return {
    page: (entries) => entries.map(frame).join(""),
    pieces: (entry) => [frame(entry)],
    error: (thrown) => {
      const error = CODECS["0.3"].encodeError(app.toA2AError(thrown));
      return sseNamedFrame("error", JSON.stringify({ error }));
    },
    keepAlive: SSE_KEEP_ALIVE,
    reconnect: () => SSE_RECONNECT,
  };
}
