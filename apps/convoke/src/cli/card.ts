import { discover } from "@convoke/client";
import { AGENT_OPTIONS, connectOptions, refuseText, urlOf } from "./agent-options.ts";
import { coloursFor } from "./colours.ts";
import type { Command, CommandContext } from "./command.ts";
import { describeCard } from "./describe-card.ts";
import { EXIT } from "./exit-code.ts";

export const cardCommand: Command = {
  name: "card",
  summary: "Show what an agent says about itself",
  usage: "<url> [options]",
  examples: [
    "convoke card http://127.0.0.1:3000",
    "convoke card http://127.0.0.1:3000 --json | jq .skills",
    "convoke card http://127.0.0.1:3000 --protocol 0.3 --json",
  ],
  options: AGENT_OPTIONS,
  run: card,
};

/** Only reads the card: it can be seen also where this client could not speak to the agent. */
async function card(context: CommandContext): Promise<number> {
  const url = urlOf(context);
  refuseText(context);
  const discovered = await discover(url, connectOptions(context));
  const text = context.flag("json")
    ? `${JSON.stringify(discovered.card, undefined, 2)}\n`
    : describeCard(discovered.card, coloursFor(context.io, "stdout"));
  context.io.stdout(text);
  return EXIT.done.code;
}
