import type { RequirementGroup } from "./requirement.ts";

/** How an agent asks its caller for something, and what happens with the answer. */
export const INPUT: RequirementGroup = {
  title: "Input and client-side tools",
  requirements: [
    {
      id: "R57",
      text:
        "A question of a tool or of a function puts the task into input-required with an agent " +
        "message and a data part that holds prompt, requestId and whether the answer is " +
        "sensitive; that status is final and ends the stream. The 0.3 JSON-RPC dialect also " +
        "carries the inputRequest field, for approvals too, unless it runs strict.",
      source: "user document 001; A2A 0.3 §7.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "R58",
      text:
        "An open question is answered by a new message with a data part or a tool-result " +
        "part, sent to its taskId. Without a taskId, a single referenced task that waits for " +
        "that very request is continued.",
      source: "user document 001",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "R59",
      text: "An answered task goes back to working and can finish.",
      source: "user document 001; A2A 0.3 §7.1",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R60",
      text: "The value of a sensitive answer appears in no log, history, trace or error.",
      source: "user document 001",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "R61",
      text:
        "Questions and approvals wait for ever unless the agent sets a time limit; client-side " +
        "tools wait 300 seconds. When no answer comes in time the task either goes on, with the " +
        'status text "Continuing without client input...", or ends with a final failed status ' +
        'for "Input timeout" whose metadata has the reason, the taskId and the real ' +
        "timeoutSeconds.",
      source: "user document 001",
      milestone: "engine",
      status: "proven",
    },
  ],
};
