import type { RequirementGroup } from "./requirement.ts";

/** How an agent is found and what its card says. */
export const DISCOVERY: RequirementGroup = {
  title: "Discovery and cards",
  requirements: [
    {
      id: "R79",
      text: "The agent card is served at /.well-known/agent-card.json.",
      source: "user documents 000 and 004; A2A 0.3 §5.3; A2A 1.0 §14.3",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R80",
      text:
        "A card states name, description, version, URL, capabilities and skills with id, name " +
        "and tags. Keeping a history of state transitions is declared in 0.3 cards only, and " +
        "the history is really kept.",
      source: "user document 000; A2A 0.3 §5.5",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R81",
      text:
        "buildAgentCard makes the card of the whole instance, with the URL given to it or " +
        "else one made of BIND_HOST and PORT.",
      source: "user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "R82",
      text:
        "buildAgentCardForAgent makes the card of one agent from its name and description, " +
        "with persona and skill bundles added when a database is given.",
      source: "user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "R83",
      text:
        "Every registered MCP tool becomes a skill with a readable name and tags; no tool is " +
        "left out by a fixed list.",
      source: "user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "R84",
      text:
        "An agent with tool permissions shows exactly those tools, and none when the list is " +
        "empty; without permissions it shows the default set. The card and the running agent " +
        "agree.",
      source: "user document 004",
      milestone: "host",
      status: "planned",
    },
    {
      id: "R85",
      text:
        "fetchAgentCard reads the well-known path and answers from memory, without a request, " +
        "for five minutes whatever the headers say. Stale entries go at the next fetch.",
      source: "user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "R86",
      text:
        "A non-2xx card answer throws ExternalServiceError with the status, and a card " +
        "without name or version throws ValidationError.",
      source: "user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "R87",
      text: "discoverAgent returns null on any failure and never throws.",
      source: "user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "R88",
      text: "After clearAgentCardCache the next fetch asks the server again.",
      source: "user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "seed-C23",
      text:
        "A card without a version is refused by its missing field, unless the reader asks to " +
        "be lenient.",
      source: "user documents 000 and 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "inbound-K13",
      text:
        "Concurrent fetches of the same card share one request, and a call that arrives with a depth " +
        "of three or more is rejected with 400.",
      source: "regressions of user document 004",
      milestone: "host",
      status: "planned",
    },
  ],
};
