import { defineAgent } from "convoke";

/** Answers with what it knows about its caller. */
export const knowingAgent = defineAgent({
  name: "Knowing",
  description: "Says who calls.",
  skills: [
    { id: "say", name: "Say", description: "Says who calls.", tags: [] },
    { id: "admin-tools", name: "Admin tools", description: "For administrators.", tags: [] },
  ],
  run: ({ caller }) => JSON.stringify(caller),
});
