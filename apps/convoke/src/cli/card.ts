import { type DiscoveredCard, discover } from "@convoke/client";
import { AGENT_ENVIRONMENT, AGENT_OPTIONS, refuseText, urlOf } from "./agent-options.ts";
import { coloursFor } from "./colours.ts";
import type { Command, CommandContext } from "./command.ts";
import { connectOptions } from "./connect-options.ts";
import { describeCard } from "./describe-card.ts";
import { describeSignature, signatureFacts } from "./describe-signature.ts";
import { EXIT } from "./exit-code.ts";
import { UsageError } from "./usage-error.ts";
import { withAgent } from "./with-agent.ts";

export const cardCommand: Command = {
  name: "card",
  summary: "Show what an agent says about itself",
  usage: "<url> [options]",
  examples: [
    "convoke card http://127.0.0.1:3000",
    "convoke card http://127.0.0.1:3000 --json | jq .skills",
    "convoke card http://127.0.0.1:3000 --a2a-version 0.3 --json",
    "convoke card https://agent.example --verify --trust-key jwks.json",
    "convoke card https://agent.example --extended --token secret",
  ],
  options: {
    verify: {
      type: "boolean",
      help: "Verify the signature and say what it proves; exit code 1 when there is none that holds",
    },
    extended: { type: "boolean", help: "The card for callers whom the agent knows" },
    ...AGENT_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: card,
};

async function card(context: CommandContext): Promise<number> {
  const { io, flag } = context;
  urlOf(context);
  refuseText(context);
  if (flag("verify") && flag("extended")) {
    throw new UsageError("--verify is about the public card; give it without --extended.");
  }
  const discovered = await read(context);
  if (flag("verify")) {
    const facts = signatureFacts(discovered);
    io.stdout(flag("json") ? `${JSON.stringify(facts)}\n` : describeSignature(facts));
    return EXIT.done.code;
  }
  const text = flag("json")
    ? `${JSON.stringify(discovered.card, undefined, 2)}\n`
    : describeCard(discovered.card, coloursFor(io, "stdout"));
  io.stdout(text);
  return EXIT.done.code;
}

/** Only reads the card where that is enough: it can be seen also where this client could not speak to the agent. */
async function read(context: CommandContext): Promise<DiscoveredCard> {
  const url = urlOf(context);
  const options = await connectOptions(context);
  if (!context.flag("extended")) return discover(url, options);
  const extended = await withAgent(
    context,
    (agent) => agent.extendedCard({ signal: context.io.signal }),
    options,
  );
  return { card: extended, cardUrl: url };
}
