import type { RequirementGroup } from "./requirement.ts";

/**
 * What Convoke guarantees beyond the protocol, mostly proven by killing its processes and by
 * randomized runs.
 */
export const GUARANTEES: RequirementGroup = {
  title: "Guarantees",
  requirements: [
    {
      id: "G1",
      text:
        "No event can be observed, by stream, snapshot, list or push, until the commit " +
        "that stores it has returned. By default that commit survives a power failure; " +
        'the "process" durability option survives only a killed process.',
      source: "Convoke guarantee",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "G2",
      text:
        "A client that reconnects with a valid cursor receives exactly the events of the " +
        "log, in order, without gaps or repeats, on every binding and regardless of which " +
        "side disconnected. With any cursor, the events it received produce the same task " +
        "as the log.",
      source: "Convoke guarantee",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "G3",
      text:
        "After any crash of the server, every unfinished task is resumed, restarted or " +
        'failed as "interrupted" within two seconds of the next start (a shared database ' +
        "adds its lease time); none stays working forever. A task of an agent that is not " +
        "served is left unchanged and listed, and only its caller or the operator can end " +
        "it.",
      source: "Convoke guarantee",
      milestone: "engine",
      status: "proven",
    },
    {
      id: "G4",
      text:
        "Only one run writes to a task: each cancel, timeout, takeover and turn starts a " +
        "newer epoch, and a commit from an older one is refused. A data folder is held by " +
        "one serving process with a lock that the operating system releases when that " +
        "process dies.",
      source: "Convoke guarantee",
      milestone: "engine",
      status: "proven",
    },
    {
      id: "G5",
      text:
        "The state of a task never moves backwards: submitted precedes working, " +
        "input-required and auth-required, which precede the terminal states. The check " +
        "happens at commit, and nothing is appended once a terminal state is stored.",
      source: "Convoke guarantee; A2A 1.0 §3.1.1",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "G6",
      text:
        "Sending a message again with the same messageId joins the task that the first " +
        "send created, also concurrently and after a restart. The same id with different " +
        "content is an error, and a send whose task was pruned long ago still does not " +
        "run a second time. This holds for callers that activate the idempotency " +
        'extension, and for all callers with idempotency: "always"; for others a ' +
        "repeated id is a new message.",
      source: "Convoke guarantee",
      milestone: "engine",
      status: "proven",
    },
    {
      id: "G7",
      text:
        "All subscribers of a task receive the same events in the same order, and a " +
        "subscriber that disconnects does not affect the others.",
      source: "Convoke guarantee; A2A 1.0 §3.5.2",
      milestone: "engine",
      status: "proven",
    },
    {
      id: "G8",
      text:
        "A slow reader reads pages of the log at its own speed: the memory it needs stays " +
        "bounded, and no other reader or agent waits for it.",
      source: "Convoke guarantee",
      milestone: "engine",
      status: "proven",
    },
    {
      id: "G9",
      text:
        "Appending an event costs the same on a long task as on a short one, after many " +
        "turns as after one, and with a million stored tasks as with a thousand.",
      source: "Convoke guarantee",
      milestone: "push",
      status: "proven",
    },
    {
      id: "G10",
      text:
        "Canceling a task stops its model call, its tools, their child processes and its " +
        "sub-agents, and persists across a restart. An agent that ignores the signal is " +
        "cut off after 500 ms. A client that only disconnects cancels nothing unless the " +
        "agent opts in.",
      source: "Convoke guarantee",
      milestone: "coder",
      status: "proven",
    },
    {
      id: "G11",
      text:
        "A guarded tool runs only with a stored approval of the exact arguments it " +
        "receives. Each approval is listed, survives restarts and is answered once. A new " +
        "message withdraws a pending approval and never grants it.",
      source: "Convoke guarantee",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "G12",
      text:
        "Each push config receives the statuses and finished artifacts of its task in " +
        "order and at least once, and advances only after a 2xx response; chunks are " +
        "optional. Undeliverable notifications become dead letters that can be listed and " +
        "sent again.",
      source: "Convoke guarantee; A2A 1.0 §4.3.3",
      milestone: "push",
      status: "proven",
    },
    {
      id: "G13",
      text:
        "Every read and write is limited to what the caller owns, and a request for " +
        "another caller's id gets the same response as one for an id that never existed.",
      source: "Convoke guarantee; A2A 1.0 §13.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "G14",
      text:
        "Bodies, parts, history, artifacts, events, open tasks per owner, streams, call " +
        "depth, iterations, tokens and wall time are all limited. Each limit has a default, " +
        "an option to change it and an error that names it.",
      source: "Convoke guarantee",
      milestone: "tools",
      status: "proven",
    },
  ],
};
