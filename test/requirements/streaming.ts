import type { RequirementGroup } from "./requirement.ts";

/** What a stream looks like on the wire, from its headers to its end. */
export const STREAMING: RequirementGroup = {
  title: "Streaming",
  requirements: [
    {
      id: "R32",
      text:
        "message/stream takes the same params as message/send and is available only if " +
        "the card declares streaming.",
      source: "user document 003; A2A 0.3 §7.2",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R33",
      text: "A stream response is 200 with text/event-stream, no-cache and keep-alive headers.",
      source: "user documents 001 and 003; A2A 0.3 §3.3.1",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R34",
      text:
        "Each data field of a JSON-RPC stream is one complete response with the id of the " +
        "request.",
      source: "user documents 001 and 003; A2A 0.3 §3.3.1",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R35",
      text:
        "The SSE id of an event is its decimal sequence number in the task's log: it " +
        'always increases and may skip numbers. No "event: message" line is sent.',
      source: "user document 003",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R36",
      text:
        'If the log itself cannot be read the stream sends "event: error" with a JSON-RPC ' +
        "error and ends. A failure of the agent is an ordinary failed status instead.",
      source: "user documents 001 and 003",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "R37",
      text:
        "The first event of a stream is the whole task in the submitted state, with the " +
        "user's message in its history.",
      source: "user documents 001, 002 and 003; A2A 1.0 §3.1.2",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R38",
      text:
        "A status update has its taskId and contextId, the status and whether it is " +
        "final; the status may include an agent message.",
      source: "user documents 001, 002 and 003; A2A 0.3 §7.2",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R39",
      text:
        "The first chunk of an artifact has append false, the following ones append true " +
        "and the same artifactId, and the last one lastChunk true.",
      source: "user documents 001, 002 and 003; A2A 0.3 §7.2",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R40",
      text:
        "A 0.3 stream ends with a final status update, after which the server closes it and " +
        "the client stops reading.",
      source: "user documents 001 and 002; A2A 0.3 §7.2",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R41",
      text:
        "After 15 seconds without data, or another configured time, the server sends a " +
        "comment on an open stream to keep the connection alive.",
      source: "user document 001",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R42",
      text:
        "A dropped stream does not affect the task, and resubscribing gives the same " +
        "format: with a valid cursor exactly the remaining events, without one the task " +
        "and then what follows. A finished task without a cursor is a snapshot and close " +
        "in 0.3 and -32004 in 1.0.",
      source: "user documents 001 and 003; A2A 0.3 §7.9; A2A 1.0 §3.1.6",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R43",
      text: "A single message event can be the entire response, without a task.",
      source: "user document 003; A2A 1.0 §3.1.2",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R44",
      text:
        "The client reads streams that are split at any byte, skips comments, and throws " +
        "the server's own message for an error payload or a non-2xx response. Broken JSON " +
        "makes it warn and resume from its cursor; the second time it ends with one clear " +
        "error.",
      source: "user document 001",
      milestone: "client",
      status: "proven",
    },
  ],
};
