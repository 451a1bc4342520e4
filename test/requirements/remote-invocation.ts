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
      status: "planned",
    },
    {
      id: "R90",
      text:
        "Over the polling protocol the response text is that of the last message with the " +
        "role agent.",
      source: "user document 004",
      milestone: "client",
      status: "planned",
    },
    {
      id: "R91",
      text:
        'A submit that is refused returns the error "Submit failed: HTTP" followed by the ' +
        "status.",
      source: "user document 004",
      milestone: "client",
      status: "planned",
    },
    {
      id: "R92",
      text:
        'An invocation that runs out of time returns the error "Timed out after" followed by ' +
        "the milliseconds.",
      source: "user document 004",
      milestone: "client",
      status: "planned",
    },
    {
      id: "R93",
      text:
        'A remote task that failed returns its response text as the error, or "Task failed" ' +
        "when it has none.",
      source: "user document 004",
      milestone: "client",
      status: "planned",
    },
    {
      id: "R94",
      text:
        "A session may make ten remote invocations to three different agents with five " +
        "seconds between them, and only to agents of the demanded trust. Progress appears as " +
        "status text, and a refusal does not reveal which rule applied.",
      source: "later practice of user document 004",
      milestone: "client",
      status: "planned",
    },
  ],
};
