import type { RequirementGroup } from "./requirement.ts";

/** Mistakes that other agent loops made in practice, each stated as the correct behaviour. */
export const LOOP_REGRESSIONS: RequirementGroup = {
  title: "Loop regressions",
  requirements: [
    {
      id: "loop-L1",
      text:
        "A model that never stops calling tools is stopped by the iteration limit, and " +
        "the task fails with a text that names the limit.",
      source: "known failures of agent loops",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "loop-L2",
      text: "Unsubscribing aborts the model call immediately, and no further call is made.",
      source: "known failures of agent loops",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "loop-L3",
      text: "After an unsubscribe the next turn works.",
      source: "known failures of agent loops",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "loop-L4",
      text: "After a failed model call the next turn works.",
      source: "known failures of agent loops",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "loop-L5",
      text:
        "A call of an unknown tool gets a tool error as its result, and a model that " +
        "keeps calling it is stopped.",
      source: "known failures of agent loops",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "loop-L6",
      text: "If keep-alives are disabled, none are sent.",
      source: "known failures of agent loops",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "loop-L7",
      text:
        "A cursor that is no longer valid is answered with a full snapshot that says so, " +
        "never with silence.",
      source: "known failures of agent loops",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "loop-L8",
      text:
        "If a model calls many tools at once, five run at a time, and every call gets a " +
        "result.",
      source: "known failures of agent loops",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "loop-L9",
      text: "Retention deletes old ended tasks and never a running one.",
      source: "known failures of agent loops",
      milestone: "push",
      status: "proven",
    },
    {
      id: "loop-L10",
      text:
        "A sub-agent whose task failed is reported as a failed tool call. Sub-agents are " +
        "called via A2A with the trace context of the caller.",
      source: "known failures of agent loops",
      milestone: "tools",
      status: "proven",
    },
    {
      id: "loop-L11",
      text:
        "An id or a name that a model or an agent chooses is never used as a path, " +
        "neither in the data folder nor where a client saves files.",
      source: "known failures of agent loops",
      milestone: "coder",
      status: "proven",
    },
    {
      id: "loop-L12",
      text: "MCP servers are called with the MCP protocol, starting with initialize.",
      source: "known failures of agent loops",
      milestone: "tools",
      status: "proven",
    },
    {
      id: "loop-L13",
      text:
        "Every question, approval and sign-in request of a loop reaches the person who " +
        "must answer it: as an official task state with the question as its text.",
      source: "known failures of agent loops",
      milestone: "console",
      status: "proven",
    },
    {
      id: "loop-L14",
      text:
        "A span ends when its work is abandoned, and contains neither prompts nor tool data " +
        "by default.",
      source: "known failures of agent loops",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "loop-L15",
      text:
        "A slow reader applies backpressure to the writer, and a stream that is closed " +
        "early leaves no unreachable turn behind.",
      source: "known failures of agent loops",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "loop-L16",
      text: "The documentation of the loop matches its code.",
      source: "known failures of agent loops",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "loop-L17",
      text:
        "Two tools with the same name are rejected when the agent is defined. If several " +
        "providers offer a tool of the same name, the model is offered one of them. A " +
        "provider whose tools cannot be listed does not fail the turn.",
      source: "known failures of agent loops",
      milestone: "runtime",
      status: "proven",
    },
  ],
};
