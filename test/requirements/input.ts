import type { RequirementGroup } from "./requirement.ts";

/** How an agent asks its caller for input, and what happens with the answer. */
export const INPUT: RequirementGroup = {
  title: "Input and client-side tools",
  requirements: [
    {
      id: "R57",
      text:
        "A question from a tool or a function sets the task to input-required with an " +
        "agent message and a data part that has the prompt, the requestId and whether the " +
        "answer is sensitive. That status is final and ends the stream. The 0.3 JSON-RPC " +
        "dialect also has the inputRequest field, for approvals too, unless it is strict.",
      source: "user document 001; A2A 0.3 §7.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "R58",
      text:
        "A pending question is answered by a new message with a data part or a " +
        "tool-result part, sent to its taskId. Without a taskId, a single referenced task " +
        "that waits for that request is continued.",
      source: "user document 001",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "R59",
      text: "An answered task returns to working and can finish.",
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
        "Questions and approvals wait indefinitely unless the agent sets a time limit; " +
        "client-side tools wait 300 seconds. After a timeout the task either continues, " +
        'with the status text "Continuing without client input...", or ends with a final ' +
        'failed status for "Input timeout" whose metadata has the reason, the taskId and ' +
        "the actual timeoutSeconds.",
      source: "user document 001",
      milestone: "engine",
      status: "proven",
    },
  ],
};
