import type { RequirementGroup } from "./requirement.ts";

/** What other agent loops got wrong in practice, each as what must be true instead. */
export const LOOP_REGRESSIONS: RequirementGroup = {
  title: "Loop regressions",
  requirements: [
    {
      id: "loop-L1",
      text:
        "A model that never stops calling tools is stopped by the budget of iterations, and the " +
        "task fails with a text that names it.",
      source: "known failures of agent loops",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "loop-L2",
      text: "Unsubscribing aborts the model call at once, and no further call is ever made.",
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
        "A call of an unknown tool gets a tool error as its result, and a model that goes on " +
        "calling it is stopped.",
      source: "known failures of agent loops",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "loop-L6",
      text: "A keep-alive that is switched off sends nothing.",
      source: "known failures of agent loops",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "loop-L7",
      text: "A cursor that is not known any more gets a whole snapshot that says so, never silence.",
      source: "known failures of agent loops",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "loop-L8",
      text: "However many tools a model calls at once, five run at a time, and all are answered.",
      source: "known failures of agent loops",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "loop-L9",
      text: "Retention deletes old tasks that have ended, and no task that runs.",
      source: "known failures of agent loops",
      milestone: "push",
      status: "proven",
    },
    {
      id: "loop-L10",
      text:
        "A sub-agent whose task failed is reported as a failed tool call, and is called by A2A " +
        "with the trace of its caller.",
      source: "known failures of agent loops",
      milestone: "tools",
      status: "proven",
    },
    {
      id: "loop-L11",
      text:
        "An id or a name that a model or an agent chooses never becomes a path: neither in the " +
        "data folder nor where a client saves files.",
      source: "known failures of agent loops",
      milestone: "coder",
      status: "proven",
    },
    {
      id: "loop-L12",
      text: "MCP servers are spoken to by MCP, from initialize on.",
      source: "known failures of agent loops",
      milestone: "tools",
      status: "proven",
    },
    {
      id: "loop-L13",
      text:
        "What a loop asks for reaches the people who must answer: each question, approval and " +
        "sign-in is an official state with the question as its text.",
      source: "known failures of agent loops",
      milestone: "console",
      status: "proven",
    },
    {
      id: "loop-L14",
      text: "A span ends when its work is left, and holds neither prompts nor tool data by default.",
      source: "known failures of agent loops",
      milestone: "guard",
      status: "planned",
    },
    {
      id: "loop-L15",
      text:
        "Whoever reads slowly slows down what is written to it, and leaving a stream leaves no " +
        "turn behind that nobody can reach.",
      source: "known failures of agent loops",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "loop-L16",
      text: "What the documents of the loop say is what its code does.",
      source: "known failures of agent loops",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "loop-L17",
      text:
        "Two tools of one name are rejected when the agent is defined; of tools of one name from " +
        "several providers the model is offered one; and a provider whose tools cannot be listed " +
        "does not fail the turn.",
      source: "known failures of agent loops",
      milestone: "runtime",
      status: "proven",
    },
  ],
};
