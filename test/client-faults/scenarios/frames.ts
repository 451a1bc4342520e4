import type { FaultCall, FaultScenario } from "../fault-scenario.ts";
import { refusal, wrapped } from "../replies/answers.ts";
import { whole } from "../replies/http.ts";
import { dataOf, frame, frames, streams, streamsText } from "../replies/streams.ts";
import { GREETED, STORY, aChunk, aMessage, aStatus, aTask, codecOf } from "../replies/words.ts";
import { HTTP, RPC, V03_RPC, V1_RPC } from "./speakings.ts";

const IDS = "A2A has no ids for events, so a client may deliver all of them";

/** An error with `event: error`, which only early agents send on 0.3 REST. */
function namedError(call: FaultCall): object {
  const error = refusal(call, "Internal", "it broke");
  return "error" in error ? error : { error };
}

/** Frames that are duplicated, out of order, from another task or request, or errors. */
export const FRAMES: readonly FaultScenario[] = [
  {
    id: "frames-twice",
    sentence: "Each numbered frame is sent twice.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) => frames(call, STORY, 1).flatMap((one) => [one, one])),
      ],
    },
    right: GREETED,
    beyond: IDS,
  },
  {
    id: "a-status-twice",
    sentence: "A status is sent three times, without an id.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streams([STORY[0]!, aStatus("working"), aStatus("working"), ...STORY.slice(1)]),
      ],
    },
    right: GREETED,
  },
  {
    id: "frames-out-of-order",
    sentence: "The second chunk of a text is sent before the first, according to their ids.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) => {
          const [a = "", b = "", c = "", d = "", e = ""] = frames(call, STORY, 1);
          return [a, b, d, c, e];
        }),
      ],
    },
    right: GREETED,
    beyond: IDS,
  },
  {
    id: "another-id-in-a-stream",
    sentence: "Every frame has the id of another request.",
    speaks: RPC,
    asks: "stream",
    replies: {
      sendStreamingMessage: [streamsText((call) => frames({ ...call, id: "somebody's" }, STORY))],
    },
    right: { error: "unreadable", says: /has the id "somebody's"/ },
  },
  {
    id: "another-id-once",
    sentence: "One frame in the middle of a stream has the id of another request.",
    speaks: RPC,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) => [
          ...frames(call, STORY.slice(0, 2)),
          frame({ ...call, id: 4711 }, aChunk("not yours", false)),
          ...frames(call, STORY.slice(2)),
        ]),
      ],
    },
    right: GREETED,
  },
  {
    id: "another-id-in-an-answer",
    sentence: "The response to a call has the id of another request.",
    speaks: RPC,
    asks: "get",
    replies: {
      getTask: [
        (call) => {
          const task = codecOf(call.speaking).encodeTask(aTask("completed", "not yours"));
          return whole(JSON.stringify(wrapped({ ...call, id: 4711 }, task)));
        },
      ],
    },
    right: { error: "unreadable", says: /has the id 4711/ },
  },
  {
    id: "an-id-as-text",
    sentence: "The agent returns the id of a request as a string.",
    speaks: RPC,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) => frames({ ...call, id: String(call.id) }, STORY)),
      ],
    },
    right: GREETED,
    beyond: "JSON-RPC requires the same id, so a client may reject it",
  },
  {
    id: "no-id-at-all",
    sentence: "The agent omits the id of a request.",
    speaks: RPC,
    asks: "stream",
    replies: {
      sendStreamingMessage: [streamsText((call) => frames({ ...call, id: undefined }, STORY))],
    },
    right: GREETED,
    beyond: "JSON-RPC requires the same id, so a client may reject it",
  },
  {
    id: "always-id-1",
    sentence: "An early agent always returns the id 1.",
    speaks: [V03_RPC],
    asks: "stream",
    replies: { sendStreamingMessage: [streamsText((call) => frames({ ...call, id: 1 }, STORY))] },
    right: GREETED,
    beyond: "JSON-RPC requires the same id, so a client may reject it",
  },
  {
    id: "an-error-without-id",
    sentence: "The agent could not parse the request, so its error has the id null.",
    speaks: RPC,
    asks: "get",
    replies: {
      getTask: [
        (call) =>
          whole(JSON.stringify(refusal({ ...call, id: null }, "JsonParse", "cannot read it"))),
      ],
    },
    right: { code: -32700, says: /cannot read it/ },
  },
  {
    id: "event-error",
    sentence: "The stream ends with `event: error` and a complete error response.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) => [
          ...frames(call, STORY.slice(0, 3)),
          `event: error\ndata: ${JSON.stringify(refusal(call, "Internal", "it broke"))}\n\n`,
        ]),
      ],
    },
    right: { code: -32603, says: /it broke/ },
  },
  {
    id: "event-error-bare",
    sentence: "The stream is a single `event: error` with only a code and a message.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText(() => [`event: error\ndata: {"code":-32603,"message":"it broke"}\n\n`]),
      ],
    },
    right: { code: -32603, says: /it broke/ },
  },
  {
    id: "event-error-in-words",
    sentence: "The stream is a single `event: error` with plain text.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [streamsText(() => ["event: error\ndata: it broke\n\n"])] },
    right: { httpStatus: 200, says: /the agent ended the stream: it broke/ },
  },
  {
    id: "an-error-as-data",
    sentence: "An error is sent as data in the middle of a stream.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) => [
          ...frames(call, STORY.slice(0, 3)),
          `data: ${JSON.stringify(namedError(call))}\n\n`,
        ]),
      ],
    },
    right: { code: -32603, says: /it broke/ },
    beyond: "REST does not define how an error is sent within a stream",
  },
  {
    id: "a-frame-that-is-not-json",
    sentence: "One frame in the middle of a stream is not JSON.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) => [...frames(call, STORY.slice(0, 3)), 'data: {"half": \n\n']),
      ],
    },
    right: GREETED,
  },
  {
    id: "frames-that-are-never-json",
    sentence: "No frame of any stream is JSON.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [streamsText(() => ["data: hello\n\n", "data: world\n\n"])] },
    right: { error: "unreadable", says: /is not JSON/ },
  },
  {
    id: "an-event-of-the-future",
    sentence: "One event in the middle of a stream is of an unknown kind.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) => {
          const future = { kind: "mood-update", moodUpdate: { mood: "fine" } };
          const all = frames(call, STORY);
          const odd = `data: ${JSON.stringify(wrapped(call, future))}\n\n`;
          return [...all.slice(0, 3), odd, ...all.slice(3)];
        }),
      ],
    },
    right: GREETED,
  },
  {
    id: "a-named-event",
    sentence: "An event with a custom name and no A2A data is sent in the middle of a stream.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) => {
          const all = frames(call, STORY);
          return [...all.slice(0, 3), "event: ping\ndata: {}\n\n", ...all.slice(3)];
        }),
      ],
    },
    right: GREETED,
    beyond: "A2A does not define names of events",
  },
  {
    id: "event-message",
    sentence: "Every event is named `message` and has an id that is not a number.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) =>
          STORY.map(
            (event, place) =>
              `id: e${String.fromCodePoint(97 + place)}\nevent: message\ndata: ${dataOf(call, event)}\n\n`,
          ),
        ),
      ],
    },
    right: GREETED,
  },
  {
    id: "more-after-the-end",
    sentence: "A completed task is followed by more text.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [streams([...STORY, aChunk(" And more."), aStatus("working")])],
    },
    right: GREETED,
    beyond: "an agent must end the stream there, and a client may deliver what follows",
  },
  {
    id: "a-second-task",
    sentence: "An event of another task is sent in the middle of a stream.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) => {
          const all = frames(call, STORY);
          const foreign = { ...aChunk("not yours", false), taskId: "t2" };
          return [...all.slice(0, 3), frame(call, foreign), ...all.slice(3)];
        }),
      ],
    },
    right: GREETED,
    beyond: "a client may deliver every event and leave the check to its user",
  },
  {
    id: "more-after-a-message",
    sentence: "A message, which is the complete response, is followed by a task.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [streams([aMessage("Hello."), ...STORY])] },
    right: { text: "Hello." },
    beyond: "an agent must end the stream there, and a client may deliver what follows",
  },
  {
    id: "no-task-first",
    sentence: "A stream starts with a chunk of text instead of its task.",
    speaks: [V1_RPC, V03_RPC],
    asks: "stream",
    replies: { sendStreamingMessage: [streams(STORY.slice(2))] },
    right: GREETED,
  },
];
