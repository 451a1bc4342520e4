import type { RequirementGroup } from "./requirement.ts";

/** What is kept, for how long, and when waiting ends. */
export const STORE_AND_TIMEOUTS: RequirementGroup = {
  title: "Task store and timeouts",
  requirements: [
    {
      id: "R103",
      text:
        "The memory store holds at most 1000 tasks; beyond that it drops the oldest finished " +
        "ones, 100 at a time.",
      source: "user document 004",
      milestone: "push",
      status: "proven",
    },
    {
      id: "R104",
      text: "A task that is not finished is never pruned.",
      source: "user document 004",
      milestone: "push",
      status: "proven",
    },
    {
      id: "R105",
      text:
        "No task returns to an earlier state, whatever order its events arrive in. Going " +
        "between working and waiting for the caller is not a return.",
      source: "user document 004",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R106",
      text:
        "Tasks live in SQLite by default, kept for 30 days or 100 000 finished tasks, and in " +
        "memory when a flag says so; both can be listed.",
      source: "user documents 000 and 004",
      milestone: "push",
      status: "proven",
    },
    {
      id: "R107",
      text:
        "The routes and functions for inbound sessions and remote invocation time out after " +
        "five minutes or the request's timeoutMs; elsewhere a task has a timeout only when " +
        'one is set. A timed-out task fails with "Task timed out", its process is stopped and ' +
        "nothing follows.",
      source: "user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "R108",
      text:
        "A task that ends, well or not, takes its timeout with it, so no second transition " +
        "can come from it.",
      source: "user document 004",
      milestone: "engine",
      status: "proven",
    },
    {
      id: "R109",
      text:
        "A question waits 300 seconds for its answer unless configured otherwise, also across " +
        "a restart.",
      source: "user document 001",
      milestone: "engine",
      status: "planned",
    },
    {
      id: "R110",
      text:
        "Fetching a card is given up after 10 seconds, submitting a task after 30 and one " +
        "poll after 10.",
      source: "later practice of user document 004",
      milestone: "client",
      status: "proven",
    },
  ],
};
