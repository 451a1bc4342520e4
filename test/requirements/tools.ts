import type { RequirementGroup } from "./requirement.ts";

/** What all tools have in common, and where they are listed. */
export const TOOLS: RequirementGroup = {
  title: "Tools and MCP",
  requirements: [
    {
      id: "R53",
      text:
        "Local, MCP and client-side tools are offered, called and answered in the same " +
        "way. A caller that activates tool-activity gets status updates with tool-use and " +
        "tool-result parts (0.3) or data parts (1.0) for every tool call; no other caller " +
        "does.",
      source: "user document 001",
      milestone: "tools",
      status: "proven",
    },
    {
      id: "R54",
      text:
        "A task's metadata has its id, context, state and model, each MCP server with " +
        "status and tools, and all available tools with description and parameter schema, " +
        "for a task in any state: in task.metadata.agent for callers that activate " +
        "run-report.",
      source: "user document 000",
      milestone: "tools",
      status: "proven",
    },
    {
      id: "R55",
      text:
        "A failing tool is reported as an error of that tool call, to the model and in " +
        "the events, and does not by itself end the task.",
      source: "user document 001",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "R56",
      text: "Registered MCP tools appear as skills on the agent's card.",
      source: "user document 004",
      milestone: "tools",
      status: "proven",
    },
  ],
};
