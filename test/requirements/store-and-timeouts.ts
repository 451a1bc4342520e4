import type { RequirementGroup } from "./requirement.ts";

/** What is stored, for how long, and which timeouts apply. */
export const STORE_AND_TIMEOUTS: RequirementGroup = {
  title: "Task store and timeouts",
  requirements: [
    {
      id: "R103",
      text:
        "The memory store holds at most 1000 tasks; beyond that it removes the oldest " +
        "finished ones, 100 at a time.",
      source: "user document 004",
      milestone: "push",
      status: "proven",
    },
    {
      id: "R104",
      text: "An unfinished task is never pruned.",
      source: "user document 004",
      milestone: "push",
      status: "proven",
    },
    {
      id: "R105",
      text:
        "No task returns to an earlier state, regardless of the order of its events. " +
        "Alternating between working and waiting for the caller is not a return.",
      source: "user document 004",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R106",
      text:
        "Tasks are stored in SQLite by default and kept for 30 days or 100 000 finished " +
        "tasks, or in memory if a flag is set; both can be listed.",
      source: "user documents 000 and 004",
      milestone: "push",
      status: "proven",
    },
    {
      id: "R107",
      text:
        "The routes and functions for inbound sessions and remote invocation time out " +
        "after five minutes or the request's timeoutMs; other tasks have a timeout only " +
        'if one is set. A timed-out task fails with "Task timed out", its process is ' +
        "stopped and no further event follows.",
      source: "user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "R108",
      text:
        "A task that ends in any state clears its timeout, so the timeout cannot cause a " +
        "second transition.",
      source: "user document 004",
      milestone: "engine",
      status: "proven",
    },
    {
      id: "R109",
      text:
        "Questions and approvals wait for their answer without a limit unless the agent sets one, and " +
        "the tools of a client 300 seconds, also across a restart. The timeout that is reported is the " +
        "real one.",
      source: "user document 001",
      milestone: "engine",
      status: "proven",
    },
    {
      id: "R110",
      text:
        "Fetching a card times out after 10 seconds, submitting a task after 30 and a " +
        "single poll after 10.",
      source: "later practice of user document 004",
      milestone: "client",
      status: "proven",
    },
  ],
};
