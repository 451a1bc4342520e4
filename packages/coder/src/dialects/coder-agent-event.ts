/** The kinds of events that a coding agent publishes, in `metadata.coderAgent.kind`. */
export const CoderAgentEvent = {
  /** Asks the user to approve a tool call. */
  ToolCallConfirmationEvent: "tool-call-confirmation",
  /** The status of a tool call changed. */
  ToolCallUpdateEvent: "tool-call-update",
  /** Text of the agent's answer. */
  TextContentEvent: "text-content",
  /** The state of the task changed. */
  StateChangeEvent: "state-change",
  /** The settings in effect, or those that a client asks for. */
  StateAgentSettingsEvent: "agent-settings",
  /** Reasoning of the model. */
  ThoughtEvent: "thought",
  /** A source of the answer. */
  CitationEvent: "citation",
} as const;

export type CoderAgentEvent = (typeof CoderAgentEvent)[keyof typeof CoderAgentEvent];
