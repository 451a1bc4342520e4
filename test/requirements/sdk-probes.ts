import type { RequirementGroup } from "./requirement.ts";

const SOURCE = "defects of the official JavaScript SDK 1.3.0, reproduced by small programs";

/** What the official JavaScript SDK got wrong in practice, each as what must be true instead. */
export const SDK_PROBES: RequirementGroup = {
  title: "SDK probes",
  requirements: [
    {
      id: "sdk-p1",
      text:
        "A client that subscribes to a running task at any moment, with a slow store, receives " +
        "every later event once: none is lost between the snapshot and the stream.",
      source: SOURCE,
      milestone: "engine",
      status: "proven",
    },
    {
      id: "sdk-p2",
      text:
        "A second message to a working task neither disturbs the stream of the first nor stores " +
        "a chunk twice, and the task still ends.",
      source: SOURCE,
      milestone: "engine",
      status: "proven",
    },
    {
      id: "sdk-p3",
      text: "Canceling a streaming task stores no chunk twice and sends its end to a webhook once.",
      source: SOURCE,
      milestone: "push",
      status: "proven",
    },
    {
      id: "sdk-p4",
      text: "A cancel ends in bounded time, although the agent ignores its signal.",
      source: SOURCE,
      milestone: "engine",
      status: "proven",
    },
    {
      id: "sdk-p5",
      text:
        "What an agent produces after its task was canceled is not stored. A subscription or a " +
        "cancel at another replica reaches the run, wherever it is.",
      source: SOURCE,
      milestone: "scale",
      status: "planned",
    },
    {
      id: "sdk-p6",
      text:
        "A push config whose URL is no URL, has another scheme or leads to a private address is " +
        "refused. A message that is sent twice with the same id runs once where the idempotency " +
        "extension is active.",
      source: SOURCE,
      milestone: "push",
      status: "proven",
    },
    {
      id: "sdk-p7",
      text: "A client that hangs up is detached at once: nothing more is read or kept for it.",
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
        "The security schemes of a card are in the JSON form of the specification, so that " +
        "clients of both versions can read them.",
      source: SOURCE,
      milestone: "cards",
      status: "proven",
    },
  ],
};
