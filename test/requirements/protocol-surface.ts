import type { RequirementGroup } from "./requirement.ts";

/** The supported requests and their responses. */
export const PROTOCOL_SURFACE: RequirementGroup = {
  title: "Protocol surface",
  requirements: [
    {
      id: "R1",
      text:
        "JSON-RPC 2.0 requests are accepted via POST with an application/json body, at " +
        "the URL on the card and at /api/a2a.",
      source: "user documents 001 and 003; A2A 0.3 §3.2.1",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R2",
      text:
        'An envelope without "2.0", a method or an id, and every batch, is rejected with ' +
        '-32600 "Invalid Request", a reason in its data and the request\'s id or null. ' +
        "Like all JSON-RPC errors it has HTTP status 200; only 401, 403, 413, 415, 429 " +
        "and 503 keep their status.",
      source: "user document 001; A2A 0.3 §8.1",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R3",
      text: "A body that is not JSON is rejected with -32700, HTTP status 200 and a null id.",
      source: "user document 001; A2A 0.3 §8.1",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R4",
      text:
        "An unknown method is rejected with -32601 and HTTP status 200, and the data " +
        "contains the method's name.",
      source: "user document 001; A2A 0.3 §8.1",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R5",
      text:
        'A request without a message, or with a message whose kind is not "message", is ' +
        "rejected with -32602 and the reason. A message without a kind is accepted.",
      source: "user document 001; A2A 0.3 §8.1",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R6",
      text:
        "An internal failure is answered with -32603, a safe text and an errorId in its " +
        "data that also appears in the server's log. Only errors that an agent raised on " +
        "purpose keep their text.",
      source: "user documents 001 and 003; A2A 0.3 §8.1",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R7",
      text:
        "Errors have a code, a message and optional data, and every response has the id " +
        "of its request, including 0 and the empty string.",
      source: "user document 001; A2A 0.3 §6.11",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R8",
      text: "message/send returns a task, or a message if the agent replied directly.",
      source: "user document 003; A2A 0.3 §7.1",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R9",
      text:
        "A send waits until the task has finished or needs the caller. Only an explicit " +
        "blocking: false returns immediately, with an unfinished task.",
      source: "user document 003; A2A 0.3 §7.1; A2A 1.0 §3.2.2",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R10",
      text:
        "A contextId continues a conversation of the same owner and a taskId continues " +
        "that task. An unused contextId starts a conversation; a malformed or expired one " +
        "is -32602.",
      source: "user document 003; A2A 1.0 §3.4",
      milestone: "push",
      status: "proven",
    },
    {
      id: "R11",
      text: "If a message has no contextId the server generates one and returns it.",
      source: "user document 001; A2A 1.0 §3.4.1",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R12",
      text:
        "The client chooses each messageId, which is unique among the messages of that " +
        "caller.",
      source: "user document 003; A2A 0.3 §6.4",
      milestone: "engine",
      status: "proven",
    },
    {
      id: "R13",
      text: "Every method accepts optional metadata in its params.",
      source: "user document 003; A2A 0.3 §7",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "R14",
      text:
        "A send respects the output modes that the caller accepts, converting data to " +
        "text if needed, and returns no more history than requested.",
      source: "user document 001; A2A 0.3 §7.1; A2A 1.0 §3.2.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "R15",
      text:
        "tasks/get returns the task with its status, artifacts, metadata and at most the last " +
        "n messages of its history.",
      source: "user document 003; A2A 0.3 §7.3",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R16",
      text:
        "tasks/cancel returns the task in the canceled state. Canceling it again returns " +
        "the same task in 1.0 and is -32002 in 0.3.",
      source: "user document 003; A2A 0.3 §7.4; A2A 1.0 §3.1.5",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R17",
      text:
        "A push config with a URL, a token and extra headers can be set on a task if the " +
        "card declares push notifications, and the stored config is returned. Headers " +
        "that belong to the transport or contain line breaks are rejected.",
      source: "user document 003; A2A 0.3 §7.5",
      milestone: "push",
      status: "proven",
    },
    {
      id: "R18",
      text:
        "A push config can also be sent in the configuration of a send and then applies " +
        "from the start of the task.",
      source: "user document 003; A2A 0.3 §7.1",
      milestone: "push",
      status: "proven",
    },
    {
      id: "R19",
      text:
        "Authenticated callers get the extended card under each of its three method names " +
        "if the agent declares one. An agent whose card does not declare one responds with " +
        "-32007 in 0.3 and -32004 in 1.0, and so does a server that accepts every caller: " +
        "its card never declares one.",
      source: "user document 003; A2A 0.3 §7.10; A2A 1.0 §3.1.11, §3.3.4",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "R20",
      text:
        "Each operation is available as a JSON-RPC method, a gRPC method and a REST path " +
        "under /v1, with the same result on all three.",
      source: "user document 003; A2A 0.3 §3.5.6",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "R21",
      text:
        "REST streams send bare objects over SSE and a REST send returns the task with " +
        "its artifacts. A POST body with kind fields gets a response in that dialect, and " +
        "so does a request without a body that asks for dialect=kind; any other request " +
        "gets ProtoJSON.",
      source: "user document 001; A2A 0.3 §3.2.3",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "R22",
      text:
        "In 0.3 every part is discriminated by kind and never by type: on JSON-RPC, and " +
        "on REST for a client that sends kinds or asks for them.",
      source: "user document 003; A2A 0.3 §6.5",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R23",
      text:
        "In 0.3 every task, message and event in a response has its kind: on JSON-RPC, " +
        "and on REST for a client that sends kinds or asks for them with dialect=kind.",
      source: "user document 003; A2A 0.3 §6",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R24",
      text: "If an object has a kind, it is the first property in its JSON text.",
      source: "user document 001",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R25",
      text:
        "The nine task states are submitted, working, input-required, completed, " +
        "canceled, failed, rejected, auth-required and unknown, and no other is ever " +
        "written.",
      source: "user documents 001 and 002; A2A 0.3 §6.3",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R26",
      text:
        'JSON-RPC responses spell the state "canceled" with one l; the spelling with two ' +
        "is accepted on input.",
      source: "user document 003; A2A 0.3 §6.3",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "R27",
      text:
        "A message has a role of user or agent, parts, a messageId and, if given, taskId, " +
        "contextId, referenceTaskIds, extensions and metadata; none of them is lost.",
      source: "user document 001; A2A 0.3 §6.4",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R28",
      text:
        "Parts are text, files (as base64 bytes or a URI, with name and media type) or data, " +
        "each with metadata. Artifacts have an id, parts and optional name, description, " +
        "metadata and extensions.",
      source: "user documents 001 and 002; A2A 0.3 §6.5 and §6.7",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R29",
      text:
        "Errors use the codes of A2A with their official meaning, and no custom code is " +
        "ever sent.",
      source: "user document 003; A2A 0.3 §8.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "R30",
      text: "Every status has an ISO 8601 timestamp.",
      source: "user document 001; A2A 1.0 §5.6.1",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R31",
      text:
        "POST /tasks creates a task (201 with its id), POST /message/stream responds to a " +
        "message with SSE, and /tasks/{id}/metadata describes a task or is 404. " +
        "/tasks/metadata lists the caller's newest tasks, up to 1000, from the configured " +
        "store; if there are none it is 204.",
      source: "user document 000",
      milestone: "coder",
      status: "proven",
    },
  ],
};
