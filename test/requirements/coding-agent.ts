import type { RequirementGroup } from "./requirement.ts";

/** What the coding agent reports to its clients, and what it asks them before it acts. */
export const CODING_AGENT: RequirementGroup = {
  title: "Coding agent",
  requirements: [
    {
      id: "R67",
      text:
        "The coding agent publishes tool-call-confirmation, tool-call-update, " +
        "text-content, state-change, agent-settings, citation and, if thinking is " +
        "enabled, thought events.",
      source: "user document 000",
      milestone: "coder",
      status: "proven",
    },
    {
      id: "R68",
      text:
        "Agent settings with a workspace path and an optional autoExecute are accepted " +
        "when a task is created or with its first message.",
      source: "user document 000",
      milestone: "coder",
      status: "proven",
    },
    {
      id: "R69",
      text:
        "With autoExecute in effect no confirmation is requested. It takes effect only if " +
        "the operator's policy allows the caller to set it.",
      source: "user document 000",
      milestone: "coder",
      status: "proven",
    },
    {
      id: "R70",
      text:
        "A confirmation request identifies the tool call, the tool and its input, and has " +
        "a title, a prompt and a risk of info, warning or danger.",
      source: "user document 000",
      milestone: "coder",
      status: "proven",
    },
    {
      id: "R71",
      text:
        "A tool call update identifies the tool call, the tool and its status, and " +
        "includes the input, result or error if there is one.",
      source: "user document 000",
      milestone: "coder",
      status: "proven",
    },
    {
      id: "R72",
      text:
        "A tool call moves from PENDING to EXECUTING to SUCCEEDED or FAILED, or from " +
        "PENDING to CANCELLED if it is rejected.",
      source: "user document 000",
      milestone: "coder",
      status: "proven",
    },
    {
      id: "R73",
      text:
        "The task is input-required while a confirmation is pending. An approval returns " +
        "the task to working and moves the tool call to EXECUTING.",
      source: "user document 000",
      milestone: "coder",
      status: "proven",
    },
    {
      id: "R74",
      text:
        "A confirmation is answered on /message/stream with a body that has taskId, " +
        "contextId and a tool-call-confirmation, with an A2A message, or in the form that " +
        "Gemini clients use. A rejection makes the tool call CANCELLED.",
      source: "user document 000",
      milestone: "coder",
      status: "proven",
    },
    {
      id: "R75",
      text:
        "A guarded edit produces working, thought, tool PENDING, confirmation and " +
        "input-required, then, once approved, working, EXECUTING, SUCCEEDED, the text and " +
        "completed, in that order.",
      source: "user document 000",
      milestone: "coder",
      status: "proven",
    },
    {
      id: "R76",
      text:
        "A coding task moves from submitted to working, input-required and completed. It " +
        "can fail while working and be canceled while it waits.",
      source: "user document 000",
      milestone: "coder",
      status: "proven",
    },
    {
      id: "R77",
      text: "GET /listCommands lists the registered commands.",
      source: "user document 000",
      milestone: "coder",
      status: "proven",
    },
    {
      id: "R78",
      text:
        "POST /executeCommand runs a command with arguments, streams via SSE if the " +
        "command streams, and supports nested commands without cycles. An invalid field " +
        "or a missing workspace is 400, an unknown command 404, a failure 500.",
      source: "user document 000 and its later practice",
      milestone: "coder",
      status: "proven",
    },
  ],
};
