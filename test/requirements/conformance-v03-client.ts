import type { RequirementGroup } from "./requirement.ts";

/** What A2A 0.3 asks of a client. */
export const CONFORMANCE_V03_CLIENT: RequirementGroup = {
  title: "A2A 0.3, clients",
  requirements: [
    {
      id: "v03-C1",
      text:
        "The client reads the transports of a card, calls each at its own URL, and prefers " +
        "the main one.",
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
      text: "The client understands every error code of the table.",
      source: "A2A 0.3 §11.2.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v03-C4",
      text:
        "The client authenticates every request by headers, with credentials from outside " +
        "the protocol.",
      source: "A2A 0.3 §4.3, §10.2",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v03-C5",
      text: "The client checks certificates, and uses the extended card once it has it.",
      source: "A2A 0.3 §4.2, §7.10",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v03-C6",
      text:
        "A receiver of notifications verifies who sent them, checks the token and takes none " +
        "twice.",
      source: "A2A 0.3 §9.5",
      milestone: "client",
      status: "proven",
    },
    {
      id: "v03-C7",
      text: "After a broken stream the client subscribes again, and in the end gets the task.",
      source: "A2A 0.3 §7.3, §7.9",
      milestone: "client",
      status: "proven",
    },
  ],
};
