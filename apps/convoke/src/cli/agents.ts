import { ClientError } from "@convoke/protocol";
import { oneLine, printableJson } from "@convoke/protocol/internal";
import {
  AGENT_ENVIRONMENT,
  OWNER_OPTION,
  SERVER_OPTIONS,
  rejectMoreArguments,
} from "../connect/agent-options.ts";
import { askServer, unreadable } from "../connect/ask-server.ts";
import { type Command, type CommandContext, EXIT } from "../terminal/command.ts";
import { textField } from "../terminal/json-fields.ts";
import { coloursFor, table } from "../terminal/output.ts";
import {
  agentsHeartbeatCommand,
  agentsRegisterCommand,
  agentsRemoveCommand,
  agentsReportCommand,
  searchRegistry,
} from "./agents-registry.ts";
import { agentsRouteCommand, agentsSearchCommand, registryTable } from "./agents-search.ts";

/** Where `convoke serve` listens by default. */
const DEFAULT_URL = "http://127.0.0.1:3000";

export const agentsCommand: Command = {
  name: "agents",
  summary: "List the agents of a server and those in its registry",
  usage: "[url] [options]",
  examples: [
    "convoke agents",
    "convoke agents https://agents.example.com",
    "convoke agents https://agents.example.com --json | jq '.registry[].url'",
  ],
  options: { ...OWNER_OPTION, ...SERVER_OPTIONS },
  environment: AGENT_ENVIRONMENT,
  subcommands: [
    agentsSearchCommand,
    agentsRouteCommand,
    agentsRegisterCommand,
    agentsHeartbeatCommand,
    agentsReportCommand,
    agentsRemoveCommand,
  ],
  more: `Without a URL it is CONVOKE_URL, or ${DEFAULT_URL}, where convoke serve listens.`,
  run: agents,
};

async function agents(given: CommandContext): Promise<number> {
  const [url = given.io.env["CONVOKE_URL"] || DEFAULT_URL, ...more] = given.positionals;
  const context = { ...given, positionals: [url, ...more] };
  const { io } = context;
  rejectMoreArguments(context);
  const served = await listServed(context);
  const registry = await searchRegistry(context).catch(withoutRegistry);
  if (context.flag("json")) {
    const entries = registry?.map(({ report }) => report);
    io.stdout(`${printableJson({ agents: served, registry: entries })}\n`);
    return EXIT.done.code;
  }
  const colours = coloursFor(io, "stdout");
  io.stdout(table(["ID", "NAME", "URL"], served.map(servedRow), colours));
  if (registry === undefined) return EXIT.done.code;
  if (registry.length > 0) io.stdout(`\n${registryTable(registry, Date.now(), colours)}`);
  else io.stderr(`${coloursFor(io, "stderr").dim("No agents are registered.")}\n`);
  return EXIT.done.code;
}

type ServedReport = Readonly<Record<string, unknown>>;

/** The agents that the server itself runs. */
async function listServed(context: CommandContext): Promise<readonly ServedReport[]> {
  const path = "/.well-known/agents.json";
  const { agents: served } = await askServer(context, { path, about: "its agents" });
  if (Array.isArray(served)) return served as readonly ServedReport[];
  throw unreadable("has no list of agents");
}

function servedRow(agent: ServedReport): readonly string[] {
  return ["id", "name", "url"].map((field) => oneLine(textField(agent, field), 100));
}

/** A registry is optional. */
function withoutRegistry(error: unknown): undefined {
  if (error instanceof ClientError && error.kind === "unsupported") return undefined;
  throw error;
}
