import type { RequirementGroup } from "./requirement.ts";

/** How agents are discovered and what their cards contain. */
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
        "A card has name, description, version, URL, capabilities and skills with id, " +
        "name and tags. A history of state transitions is declared in 0.3 cards only, and " +
        "that history is really kept.",
      source: "user document 000; A2A 0.3 §5.5",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R81",
      text:
        "buildAgentCard returns the card of the whole instance, with the given URL or one " +
        "built from BIND_HOST and PORT.",
      source: "user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "R82",
      text:
        "buildAgentCardForAgent returns the card of one agent from its name and " +
        "description, and adds persona and skill bundles if a database is given.",
      source: "user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "R83",
      text:
        "Every registered MCP tool becomes a skill with a readable name and tags; there " +
        "is no fixed list that omits tools.",
      source: "user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "R84",
      text:
        "An agent with tool permissions shows exactly those tools, and none if the list " +
        "is empty; without permissions it shows the default set. The card and the running " +
        "agent agree.",
      source: "user document 004",
      milestone: "host",
      status: "proven",
    },
    {
      id: "R85",
      text:
        "fetchAgentCard reads the well-known path and serves the card from its cache, " +
        "without a request, for five minutes regardless of the response headers. Stale " +
        "entries are removed by the next fetch.",
      source: "user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "R86",
      text:
        "A non-2xx response for a card throws ExternalServiceError with the status, and a " +
        "card without name or version throws ValidationError.",
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
      text: "After clearAgentCardCache the next fetch requests the card again.",
      source: "user document 004",
      milestone: "client",
      status: "proven",
    },
    {
      id: "seed-C23",
      text:
        "A card without a version is rejected with the name of the missing field, unless " +
        "the caller opts into lenient reading.",
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
      status: "proven",
    },
  ],
};
