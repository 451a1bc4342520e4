import { CODECS, PROTO_CODECS } from "@convoke/protocol";
import type { FaultScenario } from "../fault-scenario.ts";
import { answers, sends, wrapped } from "../replies/answers.ts";
import { streamsText } from "../replies/streams.ts";
import { GREETED, GREETING, STORY, aTask } from "../replies/words.ts";
import { V03_REST, V03_RPC } from "./speakings.ts";

const EARLY = "agents before 0.3 did this, and 0.3 does not allow it";

const ids = { taskId: "t1", contextId: "c1" };

/** A stream of any values in the envelope of the binding. */
const says = (...results: readonly unknown[]) =>
  streamsText((call) => results.map((one) => `data: ${JSON.stringify(wrapped(call, one))}\n\n`));

const begun = { kind: "task", id: "t1", contextId: "c1", status: { state: "working" } };
const done = { kind: "status-update", ...ids, status: { state: "completed" }, final: true };

/** 0.3 as early agents write it, and each of its two JSON formats in place of the other. */
export const DIALECTS: readonly FaultScenario[] = [
  {
    id: "rest-in-the-words-of-json-rpc",
    sentence: "REST responses use the JSON format of JSON-RPC.",
    speaks: [V03_REST],
    asks: "send",
    replies: {
      sendMessage: [answers(CODECS["0.3"].encodeSendResult(aTask(GREETED.state, GREETED.text)))],
    },
    right: GREETED,
    beyond: EARLY,
  },
  {
    id: "rest-streams-in-the-words-of-json-rpc",
    sentence: "REST streams use the JSON format of JSON-RPC.",
    speaks: [V03_REST],
    asks: "stream",
    replies: {
      sendStreamingMessage: [says(...STORY.map((event) => CODECS["0.3"].encodeEvent(event)))],
    },
    right: GREETED,
    beyond: EARLY,
  },
  {
    id: "json-rpc-in-the-words-of-rest",
    sentence: "JSON-RPC responses use the JSON format of REST.",
    speaks: [V03_RPC],
    asks: "send",
    replies: {
      sendMessage: [
        answers(PROTO_CODECS["0.3"].encodeSendResult(aTask(GREETED.state, GREETED.text))),
      ],
    },
    right: { error: "unreadable", says: /cannot be understood/, or: GREETED },
  },
  {
    id: "cancelled",
    sentence: "The agent spells `canceled` with two L.",
    speaks: [V03_RPC, V03_REST],
    asks: "cancel",
    replies: { cancelTask: [answers({ ...begun, status: { state: "cancelled" } })] },
    right: { text: "", state: "canceled" },
    beyond: EARLY,
  },
  {
    id: "started",
    sentence: "A task starts in the state `started`.",
    speaks: [V03_RPC, V03_REST],
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        says(
          { ...begun, status: { state: "started" } },
          {
            kind: "artifact-update",
            ...ids,
            artifact: { artifactId: "a1", parts: [{ kind: "text", text: GREETED.text }] },
          },
          done,
        ),
      ],
    },
    right: GREETED,
    beyond: EARLY,
  },
  {
    id: "no-kinds",
    sentence: "The objects in a stream have no `kind`.",
    speaks: [V03_RPC, V03_REST],
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        says(
          { id: "t1", contextId: "c1", status: { state: "working" } },
          { ...ids, artifact: { artifactId: "a1", parts: [{ text: GREETED.text }] } },
          { ...ids, status: { state: "completed" }, final: true },
        ),
      ],
    },
    right: GREETED,
    beyond: EARLY,
  },
  {
    id: "words-of-an-assistant",
    sentence: 'The message of a status is `{ role: "assistant", content }`.',
    speaks: [V03_RPC, V03_REST],
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        says(begun, {
          ...done,
          status: { state: "completed", message: { role: "assistant", content: GREETED.text } },
        }),
      ],
    },
    right: GREETED,
    beyond: EARLY,
  },
  {
    id: "artifacts-by-number",
    sentence: "Artifacts have an index and are sent part by part.",
    speaks: [V03_RPC, V03_REST],
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        says(
          begun,
          ...GREETING.map((text) => ({
            kind: "artifact-update",
            ...ids,
            index: 0,
            part: { kind: "text", text },
            timestamp: "2026-01-31T12:00:00Z",
          })),
          done,
        ),
      ],
    },
    right: GREETED,
    beyond: EARLY,
  },
  {
    id: "a-question-that-is-not-final",
    sentence: "The agent asks a question with `final: false` and ends the stream.",
    speaks: [V03_RPC, V03_REST],
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        says(begun, {
          kind: "status-update",
          ...ids,
          final: false,
          status: {
            state: "input-required",
            message: {
              kind: "message",
              messageId: "m1",
              role: "agent",
              parts: [{ kind: "text", text: "Who?" }],
            },
          },
        }),
      ],
    },
    right: { text: "Who?", state: "input-required" },
  },
  {
    id: "a-state-of-its-own",
    sentence: "A task is in a state that A2A does not define, and completes soon after.",
    speaks: [V03_RPC],
    asks: "send",
    replies: { sendMessage: [answers({ ...begun, status: { state: "daydreaming" } })] },
    right: GREETED,
    beyond: "a client may return the state unchanged",
  },
  {
    id: "a-task-that-is-at-work",
    sentence: "The agent responds to a message immediately although the caller asked to wait.",
    speaks: [V03_RPC, V03_REST],
    asks: "send",
    replies: { sendMessage: [sends(aTask("working"))] },
    right: GREETED,
    beyond: "in 0.3 an agent may do so, and a client may return the task unchanged",
  },
];
