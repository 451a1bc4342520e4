import type { RequirementGroup } from "./requirement.ts";

/** How one agent calls another by a single function. */
export const REMOTE_INVOCATION: RequirementGroup = {
  title: "Remote invocation",
  requirements: [
    {
      id: "R89",
      text:
        "invokeRemoteAgent returns success, taskId, responseText and error. One card fetch " +
        "chooses between A2A and the older POST to /a2a/tasks/send with a poll every three " +
        "seconds, and a failed submit is never repeated.",
      source: "user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "R90",
      text:
        "Over the polling protocol the response text is that of the last message with the " +
        "role agent.",
      source: "user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "R91",
      text:
        'A submit that is refused returns the error "Submit failed: HTTP" followed by the ' +
        "status.",
      source: "user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "R92",
      text:
        'An invocation that runs out of time returns the error "Timed out after" followed by ' +
        "the milliseconds.",
      source: "user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "R93",
      text:
        'A remote task that failed returns its response text as the error, or "Task failed" ' +
        "when it has none.",
      source: "user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "R94",
      text:
        "A session may make ten remote invocations to three different agents with five " +
        "seconds between two calls of one agent, and only to agents of the demanded trust. Progress appears as " +
        "status text, and a refusal does not reveal which rule applied.",
      source: "later practice of user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "seed-C9",
      text:
        "All nine states exist inside. To callers of the older protocol, interrupted tasks are " +
        "working, and canceled or rejected ones have failed with a message; a call in A2A that ends " +
        "so is a failure that says so.",
      source: "user documents 000 and 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "seed-C12",
      text:
        "Parts are written with kind, to callers of the older protocol also with type, and their " +
        "text is read whether they have type, kind or neither.",
      source: "user documents 003 and 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "seed-C24",
      text:
        "To callers of the older protocol, messages are the history, the status message and the " +
        "text of the artifacts in one list. The response text of a call in A2A is that of the " +
        "artifacts, else of the status, else of the agent's last message.",
      source: "user documents 003 and 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "inbound-K8",
      text:
        "The skill and the depth of a call are sent along and used by the receiver: the skill " +
        "selects, and a chain of calls deeper than three is rejected on both sides.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "inbound-K9",
      text:
        "A call carries the credentials for its agent and the name of the caller, and rate limits " +
        "count per authenticated caller: a name that a caller merely states counts for nothing.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "inbound-K10",
      text:
        "A card that declares streaming is served with streams, the documented fields are the ones " +
        "returned, and an agent of the polling protocol is polled, whatever its card declares.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "inbound-K12",
      text:
        "A URL that is not trusted reaches public addresses only, in whatever spelling and by " +
        "whatever redirect, for the card and for each step of the call.",
      source: "regressions of user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "inbound-K14",
      text:
        "A message is sent and accepted as it is, also if it reads like an attempt to take over: " +
        "ordinary prompts are never rejected by pattern.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "planned",
    },
  ],
};
