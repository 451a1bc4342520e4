import type { RequirementGroup } from "./requirement.ts";

/** How a call from another agent becomes a session of a local one. */
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
      status: "planned",
    },
    {
      id: "R96",
      text:
        "An inbound task goes to the agent it names, else to one with the wanted skill, else " +
        "to the first in declared order that has a default project. With none it throws " +
        'NotFoundError("Agent with default project").',
      source: "user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "R97",
      text: 'Sessions opened for inbound tasks carry the source "agent".',
      source: "user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "R98",
      text:
        "What the assistant says is appended as an agent message. The end of the session " +
        "completes the task, or cancels it when a cancel was asked for; an error or a crash " +
        "fails it.",
      source: "user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "R99",
      text: "State changes follow the events of the process at once; nothing polls for them.",
      source: "user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "R100",
      text:
        "Agent listing and session creation can be replaced through the dependencies that are " +
        "passed in.",
      source: "user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "R101",
      text: "handleTaskGet returns a task or null, and clearTaskStore empties the store.",
      source: "user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "R102",
      text:
        "A session that another agent opened may not use the tools for calling agents, and a " +
        "chain of calls deeper than three is refused.",
      source: "later practice of user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "inbound-K1",
      text: "A task whose session has ended stays completed, even if an error is reported later.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "inbound-K2",
      text: "A session that crashes fails its task, even if its exit is reported as well.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "inbound-K3",
      text:
        "A timeout fails the task, stops its process, and nothing is appended to the task " +
        "after it.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "inbound-K4",
      text:
        "The agent of an inbound task is chosen in declared order; editing an agent does not " +
        "change it.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "inbound-K5",
      text:
        "At most 1000 tasks are kept, and 100 finished ones are removed at a time; running " +
        "tasks beyond the limit are rejected, not accepted without end.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "inbound-K6",
      text: "All registered tools are skills of the card.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "inbound-K7",
      text: "An empty list of tool permissions means no tools, on the card and at run time.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "inbound-K11",
      text:
        "A task can be read by its owner only, 429 has Retry-After, subscriptions end with " +
        "their task, and all blocks of an assistant's message are kept.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "planned",
    },
  ],
};
