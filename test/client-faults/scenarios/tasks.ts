import type { FaultScenario } from "../fault-scenario.ts";
import { refuses, sends, shows } from "../replies/answers.ts";
import { showsCard } from "../replies/cards.ts";
import { streams } from "../replies/streams.ts";
import { GREETED, GREETING, STORY, aStatus, aTask } from "../replies/words.ts";
import { CLOSE } from "../wire/move.ts";
import { HTTP } from "./speakings.ts";

const DONE = aTask(GREETED.state, GREETED.text);

const cutStory = streams(STORY.slice(0, 3), { ending: [CLOSE] });

/** Tasks that disappear, move backwards, or cannot be subscribed to. */
export const TASKS: readonly FaultScenario[] = [
  {
    id: "a-task-that-vanished",
    sentence: "A stream is cut, and after a restart the agent does not know the task (-32001).",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [cutStory],
      subscribeToTask: [refuses("TaskNotFound")],
      getTask: [refuses("TaskNotFound")],
    },
    right: { code: -32001, says: /has lost task t1/ },
  },
  {
    id: "a-task-that-has-ended-meanwhile",
    sentence: "A stream is cut, and the agent rejects subscriptions to ended tasks.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [cutStory],
      subscribeToTask: [refuses("UnsupportedOperation")],
    },
    right: GREETED,
  },
  {
    id: "a-task-that-nobody-can-watch",
    sentence: "A stream is cut, and the agent rejects subscriptions although the task continues.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [cutStory],
      subscribeToTask: [refuses("UnsupportedOperation")],
      getTask: [
        shows(aTask("working", GREETING[0])),
        shows(aTask("working", GREETING[0])),
        shows(DONE),
      ],
    },
    right: GREETED,
  },
  {
    id: "subscribing-to-what-has-ended",
    sentence: "The client subscribes to an ended task (-32004).",
    speaks: HTTP,
    asks: "subscribe",
    replies: { subscribeToTask: [refuses("UnsupportedOperation")] },
    right: GREETED,
    beyond: "the error is the agent's answer, and a client may return it",
  },
  {
    id: "subscribing-to-nothing",
    sentence: "The client subscribes to an unknown task.",
    speaks: HTTP,
    asks: "subscribe",
    replies: {
      subscribeToTask: [refuses("TaskNotFound")],
      getTask: [refuses("TaskNotFound")],
    },
    right: { code: -32001, says: /not found/i },
  },
  {
    id: "getting-nothing",
    sentence: "The client requests an unknown task.",
    speaks: HTTP,
    asks: "get",
    replies: { getTask: [refuses("TaskNotFound")] },
    right: { code: -32001, says: /not found/i },
  },
  {
    id: "canceling-what-has-ended",
    sentence: "The client cancels an ended task.",
    speaks: HTTP,
    asks: "cancel",
    replies: { cancelTask: [refuses("TaskNotCancelable")] },
    right: { code: -32002, says: /cancel/i },
  },
  {
    id: "no-streams",
    sentence: "The card does not declare streaming, and the task takes a while.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      card: [showsCard((card) => ({ ...card, capabilities: { streaming: false } }))],
      sendMessage: [sends(aTask("submitted"))],
      sendStreamingMessage: [refuses("UnsupportedOperation")],
      getTask: [shows(aTask("working", GREETING[0])), shows(DONE)],
    },
    right: GREETED,
    beyond: "polling is a feature that the specification does not require",
  },
  {
    id: "no-streams-after-all",
    sentence: "The card declares streaming, but the agent has no such method (-32601).",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendMessage: [sends(aTask("submitted"))],
      sendStreamingMessage: [refuses("MethodNotFound")],
      getTask: [shows(aTask("working", GREETING[0])), shows(DONE)],
    },
    right: GREETED,
    beyond: "polling is a feature that the specification does not require",
  },
  {
    id: "no-method-for-streams",
    sentence: "The card declares streaming, but the agent does not know the method.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendMessage: [sends(DONE)],
      sendStreamingMessage: [refuses("MethodNotFound")],
    },
    right: GREETED,
    beyond: "using another method is a feature that the specification does not require",
  },
  {
    id: "a-task-that-turns-back",
    sentence:
      "While the client polls, a task moves from working back to submitted and loses its " +
      "text.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      card: [showsCard((card) => ({ ...card, capabilities: { streaming: false } }))],
      sendMessage: [sends(aTask("working"))],
      getTask: [
        shows(aTask("working", GREETING[0])),
        shows(aTask("submitted")),
        shows(aTask("working", "something else")),
        shows(DONE),
      ],
    },
    right: GREETED,
    beyond: "polling is a feature that the specification does not require",
  },
  {
    id: "a-task-that-failed",
    sentence: "A task fails in the middle of its text.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [streams([...STORY.slice(0, 3), aStatus("failed", "Oh no.")])],
    },
    right: { text: GREETING[0], state: "failed" },
  },
  {
    id: "a-task-that-asks",
    sentence: "A task asks a question, and the agent keeps the stream open.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streams([STORY[0]!, aStatus("input-required", "Who?")], { ending: [{ kind: "hang" }] }),
      ],
    },
    right: { text: "Who?", state: "input-required" },
    beyond: "1.0 does not define whether an agent ends a stream after a question",
  },
];
