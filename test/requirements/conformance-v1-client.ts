import type { RequirementGroup } from "./requirement.ts";

/** What A2A 1.0 asks of a client. */
export const CONFORMANCE_V1_CLIENT: RequirementGroup = {
  title: "A2A 1.0, clients",
  requirements: [
    {
      id: "v1-C1",
      text: "Every request of the client names its A2A version as Major.Minor.",
      source: "A2A 1.0 §3.6.1, §14.2.1",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C2",
      text:
        "The client takes the first interface of the card that it can speak, at its URL, and " +
        "says its tenant exactly or not at all.",
      source: "A2A 1.0 §8.3.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C3",
      text:
        "The client names a task only to continue it, and refers to related ones in " +
        "referenceTaskIds.",
      source: "A2A 1.0 §3.4",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C4",
      text: "The client makes up no context ids and reads nothing into ids of the server.",
      source: "A2A 1.0 §3.4.1",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C5",
      text:
        "The client asks for the extended card as an authenticated caller and uses it " +
        "instead of the public one until the version changes.",
      source: "A2A 1.0 §3.1.11",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C6",
      text:
        "The client looks at the card before it calls, tries another binding when one fails, " +
        "and checks certificates.",
      source: "A2A 1.0 §3.3.4, §5.2, §7.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C7",
      text:
        "The client takes results from artifacts and does not rely on messages or history " +
        "for them.",
      source: "A2A 1.0 §3.7",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C8",
      text:
        "A receiver of notifications checks their credentials and the task they are about, " +
        "and answers 2xx.",
      source: "A2A 1.0 §4.3.3, §13.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C9",
      text:
        "A receiver of notifications takes each once, limits them, has a token per config " +
        "and refuses stale ones.",
      source: "A2A 1.0 §13.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C10",
      text:
        "While a task is in auth-required the client subscribes, registers a webhook or " +
        "polls, and an agent that delegates passes it on.",
      source: "A2A 1.0 §7.6.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C11",
      text:
        "A signature that is verified is verified over the canonical card with a key that is " +
        "valid and came over HTTPS.",
      source: "A2A 1.0 §8.4.3",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C12",
      text: "The client caches cards as HTTP says and asks again conditionally.",
      source: "A2A 1.0 §8.6.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C13",
      text:
        "The client writes and reads ISO 8601 times and camelCase queries, and joins " +
        "extensions with commas.",
      source: "A2A 1.0 §5.6.1, §9.2, §11.5",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C14",
      text:
        "The client negotiates version and binding, and does not fall back silently where " +
        "the newest is demanded.",
      source: "A2A 1.0 §3.6.3",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C15",
      text: "The client writes the new names, reads old and new ones, and warns of the old.",
      source: "A2A 1.0 §A.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C16",
      text:
        "A closed stream is the end, a task at its end does no harm, and an empty " +
        "nextPageToken is the last page.",
      source: "A2A 1.0 §11.7, §3.1.4",
      milestone: "client",
      status: "proven",
    },
  ],
};
