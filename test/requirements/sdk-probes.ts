import type { RequirementGroup } from "./requirement.ts";

const SOURCE = "defects of the official JavaScript SDK 1.3.0, reproduced by small programs";

/** Mistakes of the official JavaScript SDK in practice, each stated as the correct behaviour. */
export const SDK_PROBES: RequirementGroup = {
  title: "SDK probes",
  requirements: [
    {
      id: "sdk-p1",
      text:
        "A client that subscribes to a running task at any moment, even with a slow " +
        "store, receives every later event once: none is lost between the snapshot and " +
        "the stream.",
      source: SOURCE,
      milestone: "engine",
      status: "proven",
    },
    {
      id: "sdk-p2",
      text:
        "A second message to a working task neither disturbs the stream of the first nor " +
        "stores a chunk twice, and the task still ends.",
      source: SOURCE,
      milestone: "engine",
      status: "proven",
    },
    {
      id: "sdk-p3",
      text:
        "Canceling a streaming task stores no chunk twice and sends its final status to a " +
        "webhook once.",
      source: SOURCE,
      milestone: "push",
      status: "proven",
    },
    {
      id: "sdk-p4",
      text: "A cancel completes in bounded time even if the agent ignores its signal.",
      source: SOURCE,
      milestone: "engine",
      status: "proven",
    },
    {
      id: "sdk-p5",
      text:
        "Output that an agent produces after its task was canceled is not stored. A " +
        "subscription or a cancel sent to another replica reaches the run on its replica.",
      source: SOURCE,
      milestone: "scale",
      status: "proven",
    },
    {
      id: "sdk-p6",
      text:
        "A push config whose URL is invalid, has another scheme or leads to a private " +
        "address is rejected. A message that is sent twice with the same id runs once if " +
        "the idempotency extension is active.",
      source: SOURCE,
      milestone: "push",
      status: "proven",
    },
    {
      id: "sdk-p7",
      text:
        "A client that disconnects is detached immediately: nothing more is read or kept " +
        "for it.",
      source: SOURCE,
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "sdk-p8",
      text: "A signed card is signed once, so its bytes and its ETag stay the same between requests.",
      source: SOURCE,
      milestone: "cards",
      status: "proven",
    },
    {
      id: "sdk-p9",
      text:
        "The security schemes of a card use the JSON form of the specification, so that " +
        "clients of both versions can read them.",
      source: SOURCE,
      milestone: "cards",
      status: "proven",
    },
  ],
};
