import type { RequirementGroup } from "./requirement.ts";

/** What the agent loop emits, and how it is controlled. */
export const AGENT_LOOP: RequirementGroup = {
  title: "Agent loop and events",
  requirements: [
    {
      id: "R45",
      text: "The agent loop takes a message and emits A2A events through an RxJS Observable.",
      source: "user document 001",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "R46",
      text:
        "The loop emits A2A events (task, status-update, artifact-update) and internal " +
        "events. The server only drops the internal events and adds the response " +
        "envelope.",
      source: "user document 002",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "R47",
      text:
        "Without its internal events the loop's output starts with the task, ends with a " +
        "final status update and contains only task, status and artifact events.",
      source: "user document 002",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "R48",
      text:
        "Internal events report each model call, tool start, tool completion and " +
        "checkpoint with their ids, for metrics and tracing. They never reach an A2A " +
        "client.",
      source: "user document 002",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "R49",
      text:
        "Model output becomes artifact updates, and a sub-agent call becomes a status " +
        "update. The completed status has the final answer as its message if the loop is " +
        "used standalone, and on a server if the agent sets finalMessage. Any error " +
        "becomes a final failed status whose metadata has a safe text and an errorId.",
      source: "user document 002",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "R50",
      text:
        "Events are emitted in a fixed order: task submitted, working, then for each " +
        "iteration the model call, its chunks and its tool starts and completions, and " +
        "finally the final status.",
      source: "user document 002",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "R51",
      text:
        "The loop offers execute, invoke, invokeSync, resume and cancel, accepts " +
        "contextId and taskId, and continues until the model requests no more tools.",
      source: "user documents 001 and 002",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "R52",
      text: "Users can add their own event handlers and transformers to the loop.",
      source: "user document 001",
      milestone: "runtime",
      status: "proven",
    },
  ],
};
