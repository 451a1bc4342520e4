import type { RequirementGroup } from "./requirement.ts";

/** How agents call agents, and how a client can follow them. */
export const SUB_AGENTS: RequirementGroup = {
  title: "Sub-agents",
  requirements: [
    {
      id: "R62",
      text:
        "A parent calls a sub-agent via message/stream with its own task id among the " +
        "referenced tasks.",
      source: "user document 001",
      milestone: "tools",
      status: "proven",
    },
    {
      id: "R63",
      text: "The sub-agent works on a task of its own, with its own stream.",
      source: "user document 001",
      milestone: "tools",
      status: "proven",
    },
    {
      id: "R64",
      text:
        'The parent publishes a working status before it calls a sub-agent ("Invoking …") ' +
        'and another after the response ("Received …").',
      source: "user document 001",
      milestone: "tools",
      status: "proven",
    },
    {
      id: "R65",
      text: "Sub-agents may call sub-agents, to any depth that the limits allow.",
      source: "user document 001",
      milestone: "tools",
      status: "proven",
    },
    {
      id: "R66",
      text:
        "A client can build the call tree from the referenced task ids in status " +
        "messages; references to unknown tasks are ignored.",
      source: "user document 001",
      milestone: "tools",
      status: "proven",
    },
  ],
};
