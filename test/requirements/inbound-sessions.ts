import type { RequirementGroup } from "./requirement.ts";

/** How a call from another agent becomes a session of a local agent. */
export const INBOUND_SESSIONS: RequirementGroup = {
  title: "Inbound sessions",
  requirements: [
    {
      id: "R95",
      text:
        "handleTaskSend creates a submitted task, opens a session for it, sets it to working, " +
        "starts the agent's process and returns the task.",
      source: "user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "R96",
      text:
        "An inbound task goes to the agent it names, else to one with the requested " +
        "skill, else to the first in declared order that has a default project. If there " +
        'is none it throws NotFoundError("Agent with default project").',
      source: "user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "R97",
      text: 'Sessions created for inbound tasks have the source "agent".',
      source: "user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "R98",
      text:
        "Assistant output is appended as an agent message. The end of the session " +
        "completes the task, or cancels it if a cancel was requested; an error or a crash " +
        "fails it.",
      source: "user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "R99",
      text: "State changes follow the events of the process immediately, without polling.",
      source: "user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "R100",
      text:
        "Agent listing and session creation can be replaced through injected " + "dependencies.",
      source: "user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "R101",
      text: "handleTaskGet returns a task or null, and clearTaskStore empties the store.",
      source: "user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "R102",
      text:
        "A session that another agent opened cannot use the tools for calling agents, and " +
        "a chain of calls deeper than three is rejected.",
      source: "later practice of user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "inbound-K1",
      text: "A task whose session has ended stays completed, even if an error is reported later.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "inbound-K2",
      text: "A session that crashes fails its task, even if its exit is reported as well.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "inbound-K3",
      text:
        "A timeout fails the task and stops its process, and nothing is appended to the " +
        "task afterwards.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "inbound-K4",
      text:
        "The agent of an inbound task is chosen in declared order; editing an agent does " +
        "not change that order.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "inbound-K5",
      text:
        "At most 1000 tasks are kept, and 100 finished ones are removed at a time. If " +
        "1000 tasks are running, further ones are rejected.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "inbound-K6",
      text: "All registered tools are listed as skills on the card.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "inbound-K7",
      text: "An empty list of tool permissions means no tools, on the card and at run time.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "inbound-K11",
      text:
        "Only its owner can read a task, a 429 response has Retry-After, subscriptions " +
        "end with their task, and all blocks of an assistant message are kept.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "proven",
    },
  ],
};
