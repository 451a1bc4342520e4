import type { RequirementGroup } from "./requirement.ts";

/** What A2A 0.3 requires of a server. */
export const CONFORMANCE_V03: RequirementGroup = {
  title: "A2A 0.3, servers",
  requirements: [
    {
      id: "v03-S1",
      text: "At least one of the three transports is served over HTTP, with TLS in production.",
      source: "A2A 0.3 §3.1, §4.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S2",
      text:
        "The server publishes a valid card without secrets, and protects it if it is " +
        "sensitive.",
      source: "A2A 0.3 §5.1, §5.4",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v03-S3",
      text:
        "The preferred transport is served at the card's url, every transport is " +
        "declared, and no URL is declared for two different transports.",
      source: "A2A 0.3 §5.6",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v03-S4",
      text: "Sending a message, getting a task and canceling it always work.",
      source: "A2A 0.3 §11.1.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S5",
      text:
        "Optional methods are served if the card declares their capability; otherwise " +
        "they are rejected with the error for that capability.",
      source: "A2A 0.3 §7, §11.1.3",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S6",
      text:
        "A JSON-RPC response has version 2.0, the id of its request or null, either a " +
        "result or an error, and the type application/json. If a stream request is " +
        "rejected, the error is the only event of the stream.",
      source: "A2A 0.3 §3.2.1, §6.11, §7",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S7",
      text:
        "A stream response is 200 with text/event-stream, and each event is a complete " +
        "JSON-RPC response.",
      source: "A2A 0.3 §3.3.1, §7",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S8",
      text:
        "REST uses the verbs and paths under /v1, application/json, matching status codes " +
        "and one error format, and streams server-sent events.",
      source: "A2A 0.3 §3.2.3, §3.3.3",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S9",
      text:
        "gRPC serves the 0.3 proto, maps errors to status codes, and uses TLS if it is " +
        "configured.",
      source: "A2A 0.3 §3.2.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S10",
      text: "All transports offer the same functionality, under the names of the mapping table.",
      source: "A2A 0.3 §3.4.1, §3.5.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S11",
      text: "A part is text, file or data, and errors have the codes of the specification.",
      source: "A2A 0.3 §6.5, §8, §11.1.5",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S12",
      text:
        "Every request is authenticated; a request that fails is answered with 401 or 403 " +
        "and WWW-Authenticate.",
      source: "A2A 0.3 §4.4",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "v03-S13",
      text:
        "An agent that needs more credentials sets the task to auth-required and states " +
        "in the status what it needs.",
      source: "A2A 0.3 §4.5",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S14",
      text: "Parameters and parts are strictly validated.",
      source: "A2A 0.3 §10.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S15",
      text: "A message to an ended task is rejected, and canceling it is TaskNotCancelable.",
      source: "A2A 0.3 §6.1, §7.1, §8.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S16",
      text: "The results of a completed task are in its artifacts.",
      source: "A2A 0.3 §6.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S17",
      text:
        "Notifications authenticate as configured and contain the token, the task and its " +
        "state. The webhook URL is not trusted.",
      source: "A2A 0.3 §9.5",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S18",
      text:
        "Extensions are used in the requested version or ignored, and are validated and " +
        "authorized like other input. Methods that we add have names that cannot clash.",
      source: "A2A 0.3 §3.5.5",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v03-S19",
      text:
        "Access is decided for each resource and each action, and trace context is " +
        "propagated.",
      source: "A2A 0.3 §10.2",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "v03-S20",
      text:
        "The extended card is served only to authenticated callers, and only if the card " +
        "declares it.",
      source: "A2A 0.3 §7.10",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v03-S21",
      text:
        "Tasks, messages, events and parts have a kind, status updates say whether they " +
        "are final, and times are ISO 8601.",
      source: "A2A 0.3 §6",
      milestone: "bindings",
      status: "proven",
    },
  ],
};
