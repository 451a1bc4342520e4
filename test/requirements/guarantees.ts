import type { RequirementGroup } from "./requirement.ts";

/** What Convoke promises beyond the protocol, mostly proven by killing it and by random runs. */
export const GUARANTEES: RequirementGroup = {
  title: "Guarantees",
  requirements: [
    {
      id: "G1",
      text:
        "Nobody can observe an event, whether by stream, snapshot, list or push, until the " +
        "commit that stores it has returned. By default that commit survives a power cut; the " +
        '"process" durability option survives a killed process only.',
      source: "Convoke guarantee",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "G2",
      text:
        "A client that reconnects with a valid cursor ends up with exactly the events of the " +
        "log, in order, without a gap or a repeat, on every binding and whichever side was " +
        "cut. With any cursor, what it received folds to the same task as the log.",
      source: "Convoke guarantee",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "G3",
      text:
        "However the server died, every unfinished task is resumed, restarted or failed as " +
        '"interrupted" within two seconds of the next start (a shared database adds its lease ' +
        "time); none stays working for ever. A task of an agent that is not served is left " +
        "alone and listed, and only its caller or the operator ends it.",
      source: "Convoke guarantee",
      milestone: "engine",
      status: "proven",
    },
    {
      id: "G4",
      text:
        "Only one run writes to a task: each cancel, timeout, takeover and turn starts a " +
        "newer epoch, and a commit from an older one is refused. A data folder is held by one " +
        "serving process through a lock that the operating system drops when that process " +
        "dies.",
      source: "Convoke guarantee",
      milestone: "engine",
      status: "proven",
    },
    {
      id: "G5",
      text:
        "A task never moves back: submitted comes before working, input-required and " +
        "auth-required, and those come before the terminal states. The check happens at " +
        "commit, and nothing is appended once a terminal state is stored.",
      source: "Convoke guarantee; A2A 1.0 §3.1.1",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "G6",
      text:
        "Sending a message again with its messageId joins the task that the first send " +
        "created, in parallel and after a restart too. The same id with other content is an " +
        "error, and a send whose task was pruned long ago still never runs a second time. This " +
        "holds for callers that activate the idempotency extension, and for all with " +
        'idempotency: "always"; for others a repeated id is a new message.',
      source: "Convoke guarantee",
      milestone: "engine",
      status: "proven",
    },
    {
      id: "G7",
      text:
        "All subscribers of one task see the same events in the same order, and a subscriber " +
        "that leaves changes nothing for the others.",
      source: "Convoke guarantee; A2A 1.0 §3.5.2",
      milestone: "engine",
      status: "proven",
    },
    {
      id: "G8",
      text:
        "A reader that cannot keep up reads pages of the log at its own speed: the memory it " +
        "costs stays bounded and no other reader or agent waits for it.",
      source: "Convoke guarantee",
      milestone: "engine",
      status: "proven",
    },
    {
      id: "G9",
      text:
        "One more event costs the same on a long task as on a short one, after many turns as " +
        "after one, and with a million stored tasks as with a thousand.",
      source: "Convoke guarantee",
      milestone: "push",
      status: "proven",
    },
    {
      id: "G10",
      text:
        "Cancelling a task stops its model call, its tools, their child processes and its " +
        "sub-agents, and holds through a restart. An agent that ignores the signal is cut off " +
        "after 500 ms; a client that merely disconnects cancels nothing unless the agent asks " +
        "for that.",
      source: "Convoke guarantee",
      milestone: "tools",
      status: "planned",
    },
    {
      id: "G11",
      text:
        "A guarded tool runs only with a stored approval of the very arguments it is given, " +
        "and each approval is listed, survives restarts and is answered once. A new message " +
        "withdraws an open approval and never grants it.",
      source: "Convoke guarantee",
      milestone: "runtime",
      status: "proven",
    },
    {
      id: "G12",
      text:
        "Each push configuration receives the statuses and finished artifacts of its task in " +
        "order and at least once, going on only after a 2xx answer; chunks are an option. " +
        "What cannot be delivered becomes a dead letter that can be listed and sent again.",
      source: "Convoke guarantee; A2A 1.0 §4.3.3",
      milestone: "push",
      status: "proven",
    },
    {
      id: "G13",
      text:
        "Every read and write is limited to what the caller owns, and asking for somebody " +
        "else's id gives the same answer as asking for one that never existed.",
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
