import { type ListedAgent, findAgents } from "@convoke/client";
import { oneLine, printableJson } from "@convoke/protocol/internal";
import {
  AGENT_ENVIRONMENT,
  AGENT_OPTIONS,
  SERVER_OPTIONS,
  readUrl,
  rejectMoreArguments,
} from "../connect/agent-options.ts";
import { readAuth } from "../connect/auth.ts";
import { readAllow } from "../connect/connect-options.ts";
import { type Command, type CommandContext, EXIT } from "../terminal/command.ts";
import { coloursFor, table } from "../terminal/output.ts";
import { agentsStoredCommand } from "./agents-stored.ts";
import { agentsSwitchCommands } from "./agents-switch.ts";

/** Where `convoke serve` listens by default. */
const DEFAULT_URL = "http://127.0.0.1:3000";

export const agentsCommand: Command = {
  name: "agents",
  summary: "List the agents of a server, and those at other addresses that it names",
  usage: "[url] [options]",
  examples: [
    "convoke agents",
    "convoke agents https://agents.example.com --skill translate",
    'convoke agents https://agents.example.com --tag poetry --text "french"',
    "convoke agents https://agents.example.com --json | jq '.agents[].url'",
  ],
  options: {
    skill: {
      type: "string",
      value: "<skill>",
      help: "Only agents with a skill of this id or name",
    },
    tag: {
      type: "string",
      value: "<tag>",
      multiple: true,
      help: "Only agents that have a skill with this tag; can be repeated",
    },
    text: {
      type: "string",
      value: "<words>",
      help: "Only agents whose names, descriptions, skills or tags have these words",
    },
    allow: {
      ...AGENT_OPTIONS.allow,
      help: "Private host, host:port or network where listed agents may be; can be repeated",
    },
    ...SERVER_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  subcommands: [...agentsSwitchCommands, agentsStoredCommand],
  more: `Without a URL it is CONVOKE_URL, or ${DEFAULT_URL}, where convoke serve listens.`,
  run: agents,
};

async function agents(given: CommandContext): Promise<number> {
  const [url = given.io.env["CONVOKE_URL"] || DEFAULT_URL, ...more] = given.positionals;
  const context = { ...given, positionals: [url, ...more] };
  const { io, text, texts, flag } = context;
  rejectMoreArguments(context);
  const query = { skill: text("skill"), tags: texts("tag"), text: text("text") };
  const { agents: found, unreadable } = await findAgents(readUrl(context), query, {
    auth: await readAuth(context),
    allow: readAllow(texts("allow")),
    signal: io.signal,
  });
  const { dim } = coloursFor(io, "stderr");
  for (const { url: address, error } of unreadable) {
    io.stderr(
      `${dim(`The card of ${oneLine(address)} could not be read: ${oneLine(error.message)}`)}\n`,
    );
  }
  if (flag("json")) io.stdout(`${printableJson({ agents: found })}\n`);
  else if (found.length > 0) {
    io.stdout(table(["ID", "NAME", "URL", "SKILLS"], found.map(row), coloursFor(io, "stdout")));
  } else io.stderr(`${dim("No agent of this server matches.")}\n`);
  return EXIT.done.code;
}

function row({ id, name, url, skills }: ListedAgent): readonly string[] {
  const named = skills.map((skill) => skill.id).join(", ");
  return [oneLine(id), oneLine(name, 40), oneLine(url, 100), oneLine(named, 60)];
}
