import type { RequirementGroup } from "./requirement.ts";

/** What the coding agent tells its clients, and what it asks them before it acts. */
export const CODING_AGENT: RequirementGroup = {
  title: "Coding agent",
  requirements: [
    {
      id: "R67",
      text:
        "The coding agent publishes tool-call-confirmation, tool-call-update, text-content, " +
        "state-change, agent-settings, citation and, while thinking is switched on, thought " +
        "events.",
      source: "user document 000",
      milestone: "coder",
      status: "planned",
    },
    {
      id: "R68",
      text:
        "Agent settings with a workspace path and an optional autoExecute come with the " +
        "creation of a task or its first message.",
      source: "user document 000",
      milestone: "coder",
      status: "planned",
    },
    {
      id: "R69",
      text:
        "With autoExecute in force no confirmation is asked for; it is in force only where " +
        "the operator's policy allows the caller to set it.",
      source: "user document 000",
      milestone: "coder",
      status: "planned",
    },
    {
      id: "R70",
      text:
        "A confirmation request names the tool call, the tool and its input, and has a title, " +
        "a prompt and a risk of info, warning or danger.",
      source: "user document 000",
      milestone: "coder",
      status: "planned",
    },
    {
      id: "R71",
      text:
        "A tool call update names the tool call, the tool and its status, with the input, " +
        "result or error where there is one.",
      source: "user document 000",
      milestone: "coder",
      status: "planned",
    },
    {
      id: "R72",
      text:
        "A tool call goes from PENDING to EXECUTING to SUCCEEDED or FAILED, or from PENDING " +
        "to CANCELLED when it is rejected.",
      source: "user document 000",
      milestone: "coder",
      status: "planned",
    },
    {
      id: "R73",
      text:
        "The task is input-required while a confirmation is open; an approval brings it back " +
        "to working and the tool to EXECUTING.",
      source: "user document 000",
      milestone: "coder",
      status: "planned",
    },
    {
      id: "R74",
      text:
        "A confirmation is answered on /message/stream by a body with taskId, contextId and a " +
        "tool-call-confirmation, by an A2A message, or in the form of Gemini clients. A " +
        "refusal makes the tool call CANCELLED.",
      source: "user document 000",
      milestone: "coder",
      status: "planned",
    },
    {
      id: "R75",
      text:
        "A guarded edit shows working, thought, tool PENDING, confirmation and " +
        "input-required, then, once approved, working, EXECUTING, SUCCEEDED, the text and " +
        "completed, in that order.",
      source: "user document 000",
      milestone: "coder",
      status: "planned",
    },
    {
      id: "R76",
      text:
        "A coding task moves from submitted to working, input-required and completed; it can " +
        "fail while working and be canceled while it waits.",
      source: "user document 000",
      milestone: "coder",
      status: "planned",
    },
    {
      id: "R77",
      text: "GET /listCommands lists the registered commands.",
      source: "user document 000",
      milestone: "coder",
      status: "planned",
    },
    {
      id: "R78",
      text:
        "POST /executeCommand runs a command with arguments, streaming by SSE where the " +
        "command streams, and knows nested commands without cycles. A bad field or missing " +
        "workspace is 400, an unknown command 404, a failure 500.",
      source: "user document 000 and its later practice",
      milestone: "coder",
      status: "planned",
    },
  ],
};
