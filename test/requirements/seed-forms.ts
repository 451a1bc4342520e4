import type { RequirementGroup } from "./requirement.ts";

/** Forms of early documents that the protocol spells otherwise, and what becomes of them. */
export const SEED_FORMS: RequirementGroup = {
  title: "Forms of early documents",
  requirements: [
    {
      id: "seed-C1",
      text:
        "tasks/get with a taskId and Accept: text/event-stream is a subscription; with an id " +
        "it is never one.",
      source: "user document 001",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "seed-C3",
      text: "The state started is read as submitted, and never written.",
      source: "user document 001",
      milestone: "client",
      status: "proven",
    },
    {
      id: "seed-C4",
      text: "The spelling cancelled is read as canceled, and never written.",
      source: "user document 003",
      milestone: "client",
      status: "proven",
    },
    {
      id: "seed-C7",
      text:
        "A REST body of 0.3 with kinds is answered with kinds, and one without in ProtoJSON. " +
        "Frames of REST streams have no envelope unless restFrames is both; the client accepts " +
        "either.",
      source: "user document 001",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "seed-C13",
      text: "A message without a kind is taken; one with another kind than message is refused.",
      source: "user documents 001 and 003",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "seed-C14",
      text:
        "At input-required a 0.3 stream says final and closes, while the task lives on; at " +
        "auth-required it stays open.",
      source: "user document 001; A2A 0.3 §9.3",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "seed-C15",
      text:
        "A push config may have headers, except those that belong to the transport, and is " +
        "answered as the protocol says; compat.pushSuccess adds success to the answer of 0.3.",
      source: "user document 003",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "seed-C16",
      text:
        "All three spellings of the method for the extended card mean the same, and where " +
        "there is none the error is -32007.",
      source: "user document 003; A2A 0.3 §7.10",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "seed-C17",
      text:
        "A refusal for lack of credentials is HTTP 401 or 403 with a JSON-RPC error in its " +
        "body.",
      source: "user documents 001 and 003",
      milestone: "guard",
      status: "planned",
    },
    {
      id: "seed-C20",
      text:
        "A tool result that refers to exactly one waiting task answers it; any other " +
        "reference begins a new task.",
      source: "user documents 001 and 003",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "seed-C21",
      text:
        "Parts of the kinds tool-result and tool-use and an inputRequest arrive as data " +
        "parts that say what they were.",
      source: "user document 001",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "seed-C28",
      text:
        "Both versions are served at one address, in their own words each; a request that " +
        "names no version is 0.3.",
      source: "user documents 001 and 002; A2A 1.0 §3.6.2",
      milestone: "bindings",
      status: "proven",
    },
  ],
};
