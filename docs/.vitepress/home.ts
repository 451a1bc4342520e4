/** What the first page shows above the text of its file. */
export const HOME = {
  hero: {
    name: "Convoke",
    text: "A2A agents that survive",
    tagline:
      "Host, run and call Agent2Agent agents in TypeScript. No task is lost, every stream resumes.",
    image: { src: "/logo.svg", alt: "" },
    actions: [
      { theme: "brand", text: "Start in five minutes", link: "/quick-start" },
      { theme: "alt", text: "How it works", link: "/concepts/task-log" },
    ],
  },
  features: [
    {
      title: "A task is a log",
      details: "Every event is on disk before anyone sees it. After kill -9, tasks resume.",
      link: "/concepts/task-log",
    },
    {
      title: "Exact resumption",
      details: "A client that reconnects gets what it missed: no gap, no duplicate.",
      link: "/concepts/resumption",
    },
    {
      title: "Durable steps",
      details: "step, ask and sleep survive restarts, in plain functions.",
      link: "/concepts/durable-steps",
    },
    {
      title: "Approvals",
      details:
        "A guarded tool runs with a recorded decision for exactly its arguments, or not at all.",
      link: "/concepts/approvals",
    },
    {
      title: "0.3 and 1.0, from one port",
      details: "JSON-RPC, REST and gRPC. Clients of both versions share agents and tasks.",
      link: "/migration/sdk-0.3",
    },
    {
      title: "Secure by default",
      details:
        "Loopback unless there is a token, one policy for outbound requests, limits on everything.",
      link: "/security",
    },
  ],
};
