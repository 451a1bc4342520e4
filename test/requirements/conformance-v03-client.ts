import type { RequirementGroup } from "./requirement.ts";

/** What A2A 0.3 requires of a client. */
export const CONFORMANCE_V03_CLIENT: RequirementGroup = {
  title: "A2A 0.3, clients",
  requirements: [
    {
      id: "v03-C1",
      text:
        "The client reads the transports of a card, calls each at its own URL, and " +
        "prefers the main one.",
      source: "A2A 0.3 §5.6.3, §11.2.1",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v03-C2",
      text: "The client can send a message and get a task.",
      source: "A2A 0.3 §11.2.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v03-C3",
      text: "The client recognizes every error code of the specification.",
      source: "A2A 0.3 §11.2.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v03-C4",
      text:
        "The client authenticates every request with headers, using credentials obtained " +
        "outside the protocol.",
      source: "A2A 0.3 §4.3, §10.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v03-C5",
      text: "The client verifies certificates, and uses the extended card once it has fetched it.",
      source: "A2A 0.3 §4.2, §7.10",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v03-C6",
      text:
        "A webhook receiver verifies the sender, checks the token and processes no " +
        "notification twice.",
      source: "A2A 0.3 §9.5",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v03-C7",
      text: "After a broken stream the client resubscribes and eventually returns the task.",
      source: "A2A 0.3 §7.3, §7.9",
      milestone: "client",
      status: "proven",
    },
  ],
};
