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
        "A call in A2A that ends canceled or rejected is a failure that says so, one that is " +
        "asked something tells the question at once, and one that waits for authorization " +
        "goes on.",
      source: "user documents 000 and 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "seed-C12",
      text:
        "The text of parts is read whether they say type, kind or neither, and all parts of " +
        "a message count.",
      source: "user documents 003 and 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "seed-C24",
      text:
        "The response text of a call in A2A is that of the artifacts, else of the status, " +
        "else of the last message of the agent.",
      source: "user documents 003 and 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "inbound-K8",
      text:
        "The skill and the depth of a call are sent along, and a chain of calls deeper than " +
        "three is refused before anything is sent.",
      source: "regressions of user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "inbound-K9",
      text: "A call carries the credentials for its agent and the name of the caller.",
      source: "regressions of user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "inbound-K10",
      text: "An agent of the polling protocol is polled, whatever its card says of streams.",
      source: "regressions of user document 004",
      milestone: "client",
      status: "proven",
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
      text: "A message is sent as it is, also when it reads like an attempt to take over.",
      source: "regressions of user document 004",
      milestone: "client",
      status: "proven",
    },
  ],
};
