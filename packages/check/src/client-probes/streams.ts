import { must, should } from "../probes/probe.ts";
import { type StreamAnswer, raw, rejects, streams } from "../probe-server/answer.ts";
import { cardFor } from "../probe-server/honest-agent.ts";
import {
  ANSWER_TEXT,
  STORY,
  aChunk,
  aMessage,
  aStatus,
  aTask,
} from "../probe-server/scripted-agent.ts";
import { JSON_BINDINGS } from "../wire/client.ts";
import { isObject } from "@convoke/protocol/internal";
import { type ClientProbe, V03, V1 } from "./client-probe.ts";
import { fail, require, requireCall, requireError, requireText } from "./judging.ts";

/** Probes about server-sent events: the same stream, written in another way that is allowed. */
export const EVENT_STREAM_FORMS: readonly ClientProbe[] = [
  writtenAs("sse-whole", "Reads a stream of server-sent events.", (frames) => frames),
  writtenAs("sse-split", "Reads events whose bytes arrive one at a time.", (frames) =>
    bytesOf(frames.join("")),
  ),
  writtenAs("sse-joined", "Reads several events that arrive at once.", (frames) => [
    frames.join(""),
  ]),
  writtenAs("sse-crlf", "Reads lines that end with CR LF.", (frames) =>
    frames.map((frame) => frame.replaceAll("\n", "\r\n")),
  ),
  writtenAs("sse-cr", "Reads lines that end with CR.", (frames) =>
    frames.map((frame) => frame.replaceAll("\n", "\r")),
  ),
  writtenAs("sse-comments", "Ignores comments, which keep a connection alive.", (frames) =>
    frames.flatMap((frame) => [": keep-alive\n\n", `:\n${frame}`]),
  ),
  writtenAs("sse-lines", "Joins several data lines of one event.", (frames) =>
    frames.map((frame) => frame.replaceAll(',"', ',\ndata: "')),
  ),
  writtenAs("sse-no-space", "Reads fields without a space after the colon.", (frames) =>
    frames.map((frame) => frame.replaceAll("data: ", "data:")),
  ),
  writtenAs("sse-fields", "Accepts the fields id, event and retry, and unknown ones.", (frames) =>
    frames.map((frame, place) => `id: ${place + 1}\nevent: message\nretry: 50\nodd: x\n${frame}`),
  ),
  writtenAs("sse-byte-order-mark", "Ignores a byte order mark at the start.", (frames) => [
    "\uFEFF",
    ...frames,
  ]),
  streamProbe({
    name: "sse-charset",
    says: "Accepts a charset in the media type of a stream.",
    answer: streams(STORY, { headers: { "content-type": "text/event-stream; charset=utf-8" } }),
  }),
  {
    ...writtenAs(
      "sse-last-blank-line",
      "Still gets the whole answer if the last event is incomplete at the end of the stream.",
      (frames) => [frames.join("").trimEnd()],
    ),
    claims: [should(V1, "§3.1.2"), should(V03, "§7.9")],
  },
];

/** A stream with frames in another form; the answer is the same. */
function writtenAs(
  name: string,
  says: string,
  write: NonNullable<StreamAnswer["write"]>,
): ClientProbe {
  return streamProbe({ name, says, answer: streams(STORY, { write }) });
}

function streamProbe({
  name,
  says,
  answer,
}: Pick<ClientProbe, "name" | "says"> & { readonly answer: StreamAnswer }): ClientProbe {
  return {
    name,
    says,
    claims: [must(V1, "§9.4.2, §11.7"), must(V03, "§3.3.1")],
    bindings: JSON_BINDINGS,
    action: "stream",
    replies: { sendStreamingMessage: () => answer },
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  };
}

/** Each byte by itself, so that characters and line ends are split. */
function bytesOf(text: string): readonly Uint8Array[] {
  const bytes = Buffer.from(text);
  return Array.from(bytes, (_, place) => bytes.subarray(place, place + 1));
}

/** What the events of a stream mean. */
export const STREAM_CONTENT: readonly ClientProbe[] = [
  {
    name: "stream-message",
    says: "Takes a single message as the whole answer.",
    claims: [must(V1, "§3.1.2"), must(V03, "§7.2")],
    action: "stream",
    replies: { sendStreamingMessage: () => streams([aMessage(ANSWER_TEXT)]) },
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
  {
    name: "chunks",
    says: "Joins the chunks of each artifact, also if those of several artifacts alternate.",
    claims: [must(V1, "§4.2.2"), must(V03, "§7.2.3")],
    action: "stream",
    replies: {
      sendStreamingMessage: () =>
        streams([
          aTask("working"),
          aChunk("one ", { id: "a", append: false }),
          aChunk("red ", { id: "b", append: false }),
          aChunk("two ", { id: "a", append: true }),
          aChunk("green", { id: "b", append: true, lastChunk: true }),
          aChunk("three", { id: "a", append: true, lastChunk: true }),
          aStatus("completed"),
        ]),
    },
    judge: (visit) => requireText(visit, "one two three", "red green"),
  },
  {
    name: "replaced",
    says: "Replaces an artifact that is sent again without append.",
    claims: [must(V1, "§4.2.2"), must(V03, "§7.2.3")],
    action: "stream",
    replies: {
      sendStreamingMessage: () =>
        streams([
          aTask("working"),
          aChunk("a draft", { append: false }),
          aChunk(ANSWER_TEXT, { append: false, lastChunk: true }),
          aStatus("completed"),
        ]),
    },
    judge: (visit) => {
      requireText(visit, ANSWER_TEXT);
      const { result } = visit;
      const hasDraft = result?.kind === "text" && result.text.trim().startsWith("a draft");
      require(!hasDraft, "the text without the artifact that was replaced", visit);
    },
  },
  {
    name: "stops-at-end",
    says: "Ends with the final event, even if the agent keeps the connection open.",
    claims: [should(V1, "§3.1.2"), should(V03, "§7.2.2")],
    action: "stream",
    replies: { sendStreamingMessage: () => streams(STORY, { ending: "open" }) },
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
  {
    name: "silence",
    says: "Waits while the agent is silent for two seconds.",
    claims: [must(V1, "§3.1.2"), must(V03, "§3.3.1")],
    action: "stream",
    replies: { sendStreamingMessage: () => streams(STORY, { pauseMs: 2000 }) },
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
  {
    name: "huge-event",
    says: "Reads an event of two megabytes.",
    claims: [should(V1, "§3.1.2"), should(V03, "§3.3.1")],
    action: "stream",
    replies: {
      sendStreamingMessage: () =>
        streams([
          { ...aTask("working"), metadata: { padding: "x".repeat(2_000_000) } },
          ...STORY.slice(1),
        ]),
    },
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
  {
    name: "many-events",
    says: "Reads ten thousand events.",
    claims: [must(V1, "§3.1.2")],
    action: "stream",
    replies: {
      sendStreamingMessage: () => streams([aTask("working"), ...MANY_CHUNKS, aStatus("completed")]),
    },
    judge: (visit) => requireText(visit, MANY.join("")),
  },
  {
    name: "unknown-fields",
    says: "Ignores fields that it does not know.",
    claims: [should(V1, "§5.7"), should(V03, "§6")],
    bindings: JSON_BINDINGS,
    action: "stream",
    replies: { sendStreamingMessage: () => streams(STORY, { change: withUnknownFields }) },
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
  {
    name: "unknown-state",
    says: "Survives a state that it does not know, and reads on.",
    claims: [should(V1, "§5.7"), should(V03, "§6.3")],
    bindings: JSON_BINDINGS,
    action: "stream",
    replies: {
      sendStreamingMessage: () =>
        streams(STORY, {
          change: (json, place) => (place === 1 ? withUnknownState(json) : json),
        }),
    },
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
  {
    name: "unknown-event",
    says: "Ignores an event of a kind that it does not know.",
    claims: [should(V1, "§5.7"), should(V03, "§7.2.1")],
    bindings: JSON_BINDINGS,
    action: "stream",
    replies: {
      sendStreamingMessage: () =>
        streams(STORY, { change: (json, place) => (place === 1 ? UNKNOWN_EVENT : json) }),
    },
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
];

const MANY = Array.from({ length: 10_000 }, (_, place) => `${place},`);

const MANY_CHUNKS = MANY.map((text, place) => aChunk(text, { append: place > 0 }));

const UNKNOWN_EVENT = { kind: "novelty-update", noveltyUpdate: { taskId: "task-1" } };

/** Adds a field to everything that has fields. Objects whose only member says what they are stay as they are. */
function withUnknownFields(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(withUnknownFields);
  if (!isObject(json)) return json;
  const fields = Object.entries(json).map(([name, value]) => [name, withUnknownFields(value)]);
  const hasFields = ["state", "parts", "taskId", "id"].some((name) => name in json);
  return { ...Object.fromEntries(fields), ...(hasFields && { noveltyField: { a: 1 } }) };
}

function withUnknownState(json: unknown): unknown {
  return JSON.parse(
    JSON.stringify(json)
      .replace("TASK_STATE_WORKING", "TASK_STATE_NAPPING")
      .replace('"working"', '"napping"'),
  ) as unknown;
}

/** What a client does about streams that break. */
export const BROKEN_STREAMS: readonly ClientProbe[] = [
  {
    name: "cut-stream",
    says: "Gets the rest of a stream that broke, by subscribing or by reading the task.",
    claims: [should(V1, "§3.1.6"), should(V03, "§7.9")],
    action: "stream",
    replies: { sendStreamingMessage: () => CUT },
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
  {
    name: "no-second-message",
    says: "Does not send its message again when the stream of its task breaks.",
    claims: [should(V1, "§3.1.6"), should(V03, "§7.9")],
    action: "stream",
    replies: { sendStreamingMessage: () => CUT },
    judge: (visit) => {
      requireCall(visit, "sendStreamingMessage");
      const { length } = visit.calls("sendMessage", "sendStreamingMessage");
      if (length > 1) fail("one message: the task is known", visit);
    },
  },
  {
    name: "early-end",
    says: "Does not take a stream that ends before its task for a complete answer.",
    claims: [should(V1, "§3.1.2"), should(V03, "§7.9")],
    action: "stream",
    replies: { sendStreamingMessage: () => streams(STORY.slice(0, 3)) },
    judge: (visit) => {
      if (visit.result?.kind !== "error") requireText(visit, ANSWER_TEXT);
    },
  },
  {
    name: "stream-error",
    says: "Reports an error that arrives within a stream.",
    claims: [must(V1, "§9.4.2"), must(V03, "§3.3.1, §8")],
    bindings: ["jsonrpc"],
    action: "stream",
    replies: {
      sendStreamingMessage: () =>
        streams(STORY.slice(0, 2), {
          write: (frames) => [
            ...frames.slice(0, 1),
            'data: {"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"It broke."}}\n\n',
          ],
        }),
      subscribeToTask: () => rejects("Internal", "it broke"),
      getTask: () => rejects("Internal", "it broke"),
    },
    judge: requireError,
  },
  {
    name: "stream-rejected",
    says: "Reports an error that is sent instead of a stream.",
    claims: [must(V1, "§3.3.2"), must(V03, "§8")],
    action: "stream",
    replies: {
      sendStreamingMessage: () => rejects("InvalidParams", "this message is not acceptable"),
    },
    judge: requireError,
  },
  {
    name: "stream-page",
    says: "Reports an error if it receives a web page instead of a stream.",
    claims: [must(V1, "§3.3.2"), must(V03, "§3.3.1")],
    bindings: JSON_BINDINGS,
    action: "stream",
    replies: {
      sendStreamingMessage: () => raw(200, "<!DOCTYPE html><p>Welcome</p>", "text/html"),
    },
    judge: requireError,
  },
  {
    name: "no-streaming",
    says: "Asks for no stream if the card says that the agent has none.",
    claims: [should(V1, "§3.3.4"), should(V03, "§7.2")],
    action: "stream",
    card: (place) => cardFor(place, { capabilities: { streaming: false } }),
    replies: {
      sendStreamingMessage: () => rejects("UnsupportedOperation", "this agent does not stream"),
    },
    judge: (visit) => {
      const [call] = visit.calls("sendStreamingMessage");
      require(call === undefined, "a plain message, or an error", visit, call);
    },
  },
];

/** Ends in the middle of the event after the first chunk. */
const CUT = streams(STORY.slice(0, 4), {
  write: (frames) => [...frames.slice(0, 3), (frames[3] ?? "").slice(0, 20)],
  ending: "cut",
});
