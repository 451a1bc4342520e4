import type { RequirementGroup } from "./requirement.ts";

/** How one agent calls another with a single function. */
export const REMOTE_INVOCATION: RequirementGroup = {
  title: "Remote invocation",
  requirements: [
    {
      id: "R89",
      text:
        "invokeRemoteAgent returns success, taskId, responseText and error. One card " +
        "fetch decides between A2A and the older POST to /a2a/tasks/send with a poll " +
        "every three seconds, and a failed submit is never repeated.",
      source: "user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "R90",
      text:
        "With the polling protocol the response text is the text of the last message with " +
        "the role agent.",
      source: "user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "R91",
      text:
        'A rejected submit returns the error "Submit failed: HTTP" followed by the ' + "status.",
      source: "user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "R92",
      text:
        'An invocation that times out returns the error "Timed out after" followed by the ' +
        "milliseconds.",
      source: "user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "R93",
      text:
        'A failed remote task returns its response text as the error, or "Task failed" if ' +
        "it has none.",
      source: "user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "R94",
      text:
        "A session may make ten remote invocations to three different agents, with five " +
        "seconds between calls to the same agent, and only to agents with the required " +
        "trust. Progress appears as status text, and a rejection does not reveal which " +
        "rule applied.",
      source: "later practice of user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "seed-C9",
      text:
        "All nine states exist internally. For callers of the older protocol, interrupted " +
        "tasks are reported as working, and canceled or rejected ones as failed with a " +
        "message. An A2A call that ends in one of those states is reported as a failure " +
        "that names the state.",
      source: "user documents 000 and 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "seed-C12",
      text:
        "Parts are written with kind, for callers of the older protocol also with type, " +
        "and their text is read whether they have type, kind or neither.",
      source: "user documents 003 and 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "seed-C24",
      text:
        "For callers of the older protocol, messages are the history, the status message " +
        "and the text of the artifacts in one list. The response text of an A2A call is " +
        "the text of the artifacts, else of the status, else of the agent's last message.",
      source: "user documents 003 and 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "inbound-K8",
      text:
        "The skill and the depth of a call are sent to the receiver and used there: the " +
        "skill selects the agent, and a chain of calls deeper than three is rejected on " +
        "both sides.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "inbound-K9",
      text:
        "A call has the credentials for its agent and the name of the caller. Rate limits " +
        "count per authenticated caller; a name that a caller merely claims is ignored.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "inbound-K10",
      text:
        "A card that declares streaming is served with streams, the documented fields are " +
        "the ones returned, and an agent that uses the polling protocol is polled " +
        "regardless of its card.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "inbound-K12",
      text:
        "An untrusted URL can reach only public addresses, in any notation and through " +
        "any redirect, for the card and for each step of the call.",
      source: "regressions of user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "inbound-K14",
      text:
        "A message is sent and accepted unchanged, even if it looks like prompt " +
        "injection: ordinary prompts are never rejected by a pattern.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "proven",
    },
  ],
};
