import type { RequirementGroup } from "./requirement.ts";

/** What A2A 0.3 asks of a server. */
export const CONFORMANCE_V03: RequirementGroup = {
  title: "A2A 0.3, servers",
  requirements: [
    {
      id: "v03-S1",
      text: "At least one of the three transports is served over HTTP, in production with TLS.",
      source: "A2A 0.3 §3.1, §4.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S2",
      text: "There is a valid card, without secrets, and protected where it is sensitive.",
      source: "A2A 0.3 §5.1, §5.4",
      milestone: "cards",
      status: "planned",
    },
    {
      id: "v03-S3",
      text:
        "The preferred transport is served at the card's url, every transport is declared, " +
        "and no address is declared for two different ones.",
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
        "Optional methods are served where the card has their capability, and refused by the " +
        "error for it where it has not.",
      source: "A2A 0.3 §7, §11.1.3",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S6",
      text:
        "A JSON-RPC answer is 2.0, has the id of its request, or null, and either a result " +
        "or an error, as application/json. The error of a refused stream is the only event of " +
        "a stream.",
      source: "A2A 0.3 §3.2.1, §6.11, §7",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S7",
      text:
        "A stream is answered 200 with text/event-stream, and each event is a whole JSON-RPC " +
        "response.",
      source: "A2A 0.3 §3.3.1, §7",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S8",
      text:
        "REST has its verbs and paths below /v1, application/json, proper status codes, one " +
        "shape for errors, and streams as server-sent events.",
      source: "A2A 0.3 §3.2.3, §3.3.3",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S9",
      text:
        "gRPC serves the proto of 0.3, maps errors to statuses, and has TLS where it is " +
        "configured.",
      source: "A2A 0.3 §3.2.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S10",
      text: "Every transport can do the same, under the names of the mapping table.",
      source: "A2A 0.3 §3.4.1, §3.5.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S11",
      text: "A part is text, file or data, and errors have the codes of the table.",
      source: "A2A 0.3 §6.5, §8, §11.1.5",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S12",
      text:
        "Each request is authenticated; otherwise the answer is 401 or 403 with " +
        "WWW-Authenticate.",
      source: "A2A 0.3 §4.4",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "v03-S13",
      text:
        "An agent that needs more credentials is in auth-required and says in its status " +
        "what it needs.",
      source: "A2A 0.3 §4.5",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S14",
      text: "Parameters and parts are checked strictly.",
      source: "A2A 0.3 §10.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S15",
      text: "A task that has ended takes no message, and canceling it is TaskNotCancelable.",
      source: "A2A 0.3 §6.1, §7.1, §8.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S16",
      text: "What a completed task has produced is in its artifacts.",
      source: "A2A 0.3 §6.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S17",
      text:
        "Notifications authenticate themselves as configured, bring the token, the task and " +
        "its state; the address is not trusted.",
      source: "A2A 0.3 §9.5",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v03-S18",
      text:
        "Extensions are used in the version asked for or ignored, are checked and authorized " +
        "like the rest, and methods of our own have names that cannot clash.",
      source: "A2A 0.3 §3.5.5",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v03-S19",
      text:
        "What a caller may see and do is decided for each thing and each action, and traces " +
        "are passed on.",
      source: "A2A 0.3 §10.2",
      milestone: "guard",
      status: "planned",
    },
    {
      id: "v03-S20",
      text: "The extended card is for authenticated callers, and only where the card announces it.",
      source: "A2A 0.3 §7.10",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v03-S21",
      text:
        "Tasks, messages, events and parts have a kind, status updates say whether they are " +
        "final, and times are ISO 8601.",
      source: "A2A 0.3 §6",
      milestone: "bindings",
      status: "proven",
    },
  ],
};
