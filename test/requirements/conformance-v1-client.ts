import type { RequirementGroup } from "./requirement.ts";

/** What A2A 1.0 requires of a client. */
export const CONFORMANCE_V1_CLIENT: RequirementGroup = {
  title: "A2A 1.0, clients",
  requirements: [
    {
      id: "v1-C1",
      text: "Every request of the client states its A2A version as Major.Minor.",
      source: "A2A 1.0 §3.6.1, §14.2.1",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C2",
      text:
        "The client uses the first interface on the card that it supports, at its URL, " +
        "and sends that interface's tenant exactly, or none.",
      source: "A2A 1.0 §8.3.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C3",
      text:
        "The client sends a taskId only to continue that task, and refers to related " +
        "tasks in referenceTaskIds.",
      source: "A2A 1.0 §3.4",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C4",
      text: "The client does not generate context ids and treats ids from the server as opaque.",
      source: "A2A 1.0 §3.4.1",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C5",
      text:
        "The client requests the extended card as an authenticated caller and uses it " +
        "instead of the public one until the card's version changes.",
      source: "A2A 1.0 §3.1.11",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C6",
      text:
        "The client checks the card before it calls, tries another binding if one fails, " +
        "and verifies certificates.",
      source: "A2A 1.0 §3.3.4, §5.2, §7.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C7",
      text:
        "The client reads results from artifacts and does not rely on messages or history " +
        "for them.",
      source: "A2A 1.0 §3.7",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C8",
      text:
        "A webhook receiver checks the credentials and the task of a notification, and " +
        "responds with 2xx.",
      source: "A2A 1.0 §4.3.3, §13.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C9",
      text:
        "A webhook receiver processes each notification once, limits their rate, uses a " +
        "token per config and rejects stale notifications.",
      source: "A2A 1.0 §13.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C10",
      text:
        "While a task is auth-required the client subscribes, registers a webhook or " +
        "polls, and an agent that delegates passes the state on.",
      source: "A2A 1.0 §7.6.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C11",
      text:
        "A signature is verified over the canonical card, with a valid key that was " +
        "fetched over HTTPS.",
      source: "A2A 1.0 §8.4.3",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C12",
      text:
        "The client caches cards according to their HTTP headers and revalidates them with " +
        "conditional requests.",
      source: "A2A 1.0 §8.6.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C13",
      text:
        "The client writes and reads ISO 8601 times and camelCase query parameters, and " +
        "joins extensions with commas.",
      source: "A2A 1.0 §5.6.1, §9.2, §11.5",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C14",
      text:
        "The client negotiates version and binding, and does not silently fall back if " +
        "the newest version is required.",
      source: "A2A 1.0 §3.6.3",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C15",
      text:
        "The client writes the new names, reads old and new ones, and logs a warning for " +
        "old ones.",
      source: "A2A 1.0 §A.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v1-C16",
      text:
        "A closed stream is treated as its end, a terminal task as the first event is " +
        "accepted, and an empty nextPageToken marks the last page.",
      source: "A2A 1.0 §11.7, §3.1.4",
      milestone: "client",
      status: "proven",
    },
  ],
};
