import type { RequirementGroup } from "./requirement.ts";

/** What survives a disconnect or a crash, and what is not repeated. */
export const RESUME: RequirementGroup = {
  title: "Resume and checkpoints",
  requirements: [
    {
      id: "R111",
      text: "If a client disconnects, its task keeps its state and continues.",
      source: "user document 001; A2A 1.0 §3.5.2",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R112",
      text:
        "Resuming a finished task emits completed, and resuming an unfinished one " +
        "continues it. Each iteration writes a checkpoint event.",
      source: "user document 002",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "R113",
      text:
        "A resumed run continues from the model call, tool or sub-agent it had reached " +
        "without repeating finished work, and its first event already contains the " +
        "artifacts so far.",
      source: "user document 001",
      milestone: "tools",
      status: "proven",
    },
  ],
};
