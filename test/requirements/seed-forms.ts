import type { RequirementGroup } from "./requirement.ts";

/** Forms from early documents that differ from the protocol, and how they are handled. */
export const SEED_FORMS: RequirementGroup = {
  title: "Forms of early documents",
  requirements: [
    {
      id: "seed-C1",
      text:
        "tasks/get with a taskId and Accept: text/event-stream is a subscription; with an " +
        "id it never is.",
      source: "user document 001",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "seed-C2",
      text:
        "No custom error codes appear on the wire: an input timeout is a final failed " +
        "status whose metadata has the reason, a failed tool is a tool result, and a " +
        "malformed contextId is -32602.",
      source: "user document 001; A2A 0.3 §8.2",
      milestone: "tools",
      status: "proven",
    },
    {
      id: "seed-C3",
      text: "The state started is read as submitted and never written.",
      source: "user document 001",
      milestone: "client",
      status: "proven",
    },
    {
      id: "seed-C4",
      text: "The spelling cancelled is read as canceled and never written.",
      source: "user document 003",
      milestone: "client",
      status: "proven",
    },
    {
      id: "seed-C5",
      text:
        "status.message is always an A2A Message with the role agent; roles of model " +
        "providers such as assistant stay inside the runtime.",
      source: "user document 002",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "seed-C6",
      text:
        "An artifact update is written as artifact, append and lastChunk; the client also " +
        "reads the form with index and part.",
      source: "user document 001",
      milestone: "client",
      status: "proven",
    },
    {
      id: "seed-C7",
      text:
        "A 0.3 REST body with kinds gets a response with kinds, and one without gets " +
        'ProtoJSON. Frames of REST streams have no envelope unless restFrames is "both"; ' +
        "the client accepts either.",
      source: "user document 001",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "seed-C8",
      text: "Disconnecting cancels nothing, unless the agent sets onDisconnect to cancel.",
      source: "user document 001",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "seed-C10",
      text:
        "A task never moves back to an earlier rank: submitted, then working or " +
        "interrupted, then a terminal state, which is final.",
      source: "user documents 000, 001 and 004",
      milestone: "engine",
      status: "proven",
    },
    {
      id: "seed-C11",
      text:
        "One request handler serves JSON-RPC at / and /api/a2a, REST at /v1 and at the " +
        "root, the coding agent's routes and the routes under /a2a/tasks.",
      source: "user documents 000, 001, 003 and 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "seed-C13",
      text:
        "A message without a kind is accepted; one with a kind other than message is " +
        "rejected.",
      source: "user documents 001 and 003",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "seed-C14",
      text:
        "At input-required and at auth-required a 0.3 stream sends final and closes, " +
        "while the task stays open; a 1.0 stream stays open at auth-required.",
      source: "user document 001; A2A 0.3 §9.3",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "seed-C15",
      text:
        "A push config may have headers, except those that belong to the transport, and " +
        "the response is as the protocol defines it; compat.pushSuccess adds success to " +
        "the 0.3 response.",
      source: "user document 003",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "seed-C16",
      text:
        "All three spellings of the method for the extended card are equivalent, and if " +
        "there is no extended card the error is -32007 in 0.3.",
      source: "user document 003; A2A 0.3 §7.10",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "seed-C17",
      text:
        "A request without valid credentials is rejected with HTTP 401 or 403 and a " +
        "JSON-RPC error in the body.",
      source: "user documents 001 and 003",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "seed-C18",
      text:
        "The SSE id is the decimal sequence number of the event. It increases and may " +
        "skip numbers; an unknown Last-Event-ID is answered with the full task first, " +
        "never with silence.",
      source: "user document 003",
      milestone: "engine",
      status: "proven",
    },
    {
      id: "seed-C19",
      text:
        "Callers receive plain A2A events; internal events are never sent to them, and " +
        "the coding agent's events are data parts under their extension.",
      source: "user documents 000 and 002",
      milestone: "coder",
      status: "proven",
    },
    {
      id: "seed-C20",
      text:
        "A message continues the task that its taskId names, else the single interrupted " +
        "task among its referenceTaskIds whose pending request it answers; any other " +
        "reference starts a new task.",
      source: "user documents 001 and 003",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "seed-C21",
      text:
        "Parts of the kinds tool-result and tool-use and an inputRequest are received as " +
        "data parts that record their original kind. On output, 0.3 JSON-RPC has the " +
        "inputRequest in addition to the data part, and callers that activate the " +
        "tool-activity extension receive tool-use and tool-result parts.",
      source: "user document 001",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "seed-C22",
      text:
        "A confirmation is accepted as the coding agent's own body, as a message, and as a " +
        "call id with an outcome.",
      source: "user document 000",
      milestone: "coder",
      status: "proven",
    },
    {
      id: "seed-C25",
      text:
        "Tasks are stored in SQLite by default. The memory store keeps at most 1000 and " +
        "removes 100 finished ones at a time.",
      source: "user documents 000, 001, 002 and 004",
      milestone: "push",
      status: "proven",
    },
    {
      id: "seed-C26",
      text:
        "An inbound task goes to the agent that it names, else to one with the requested skill, else " +
        "to the first in declared order that has a default project.",
      source: "user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "seed-C27",
      text:
        "A stopped session completes its task, unless a cancel was requested: then the task " +
        "is canceled.",
      source: "user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "seed-C28",
      text:
        "Both versions are served at one address, each in its own format; a request " +
        "without a version is 0.3.",
      source: "user documents 001 and 002; A2A 1.0 §3.6.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "seed-C29",
      text:
        "Only 0.3 cards declare stateTransitionHistory, and compaction keeps all status " +
        "events of a task.",
      source: "user document 000",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "seed-C30",
      text:
        "A turn of the coding agent ends completed; with turnEndState it ends input-required, " +
        "so that the task can be continued.",
      source: "user document 000",
      milestone: "coder",
      status: "proven",
    },
  ],
};
