import { isObject, oneLine, printableJson } from "@convoke/protocol/internal";
import {
  AGENT_ENVIRONMENT,
  SERVER_OPTIONS,
  readUrl,
  rejectMoreArguments,
} from "../connect/agent-options.ts";
import { askServer, unreadable } from "../connect/ask-server.ts";
import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { commandLine } from "../terminal/command-line.ts";
import { textField } from "../terminal/json-fields.ts";
import { coloursFor, table } from "../terminal/output.ts";

const PATH = "/convoke/agents";

const ABOUT = "its agents for operators; it may have that API switched off (CONVOKE_AGENT_API)";

const agentsStatusCommand: Command = {
  name: "agents status",
  summary: "List the agents of a server as its operator sees them",
  usage: "<url> [options]",
  examples: ["convoke agents status http://127.0.0.1:3000"],
  options: SERVER_OPTIONS,
  environment: AGENT_ENVIRONMENT,
  run: async (context) => {
    rejectMoreArguments(context);
    const answer = await askServer(context, { path: PATH, about: ABOUT });
    const { agents } = answer;
    if (!Array.isArray(agents)) throw unreadable("has no list of agents");
    const { io } = context;
    if (context.flag("json")) io.stdout(`${printableJson(answer)}\n`);
    else io.stdout(table(HEADS, agents.filter(isObject).map(statusRow), coloursFor(io, "stdout")));
    return EXIT.done.code;
  },
};

const HEADS = ["ID", "STATE", "RUNNING", "DESCRIPTION"] as const;

function statusRow(agent: Readonly<Record<string, unknown>>): readonly string[] {
  const state = agent["isEnabled"] === true ? "enabled" : "disabled";
  return [
    textField(agent, "id"),
    agent["isDefault"] === true ? `${state}, default` : state,
    String(agent["running"]),
    textField(agent, "description"),
  ].map((text) => oneLine(text, 100));
}

function switchCommand(verb: "disable" | "enable", summary: string): Command {
  return {
    name: `agents ${verb}`,
    summary,
    usage: "<url> <id> [options]",
    examples: [`convoke agents ${verb} http://127.0.0.1:3000 poet`],
    options: SERVER_OPTIONS,
    environment: AGENT_ENVIRONMENT,
    more: `It takes effect at once, at all servers on the same database, and stays so over restarts. It needs
the scope convoke:operate, the one token of the server, or a server on loopback without
authentication.`,
    run: async (context) => {
      const id = readId(context);
      const path = `${PATH}/${encodeURIComponent(id)}:${verb}`;
      const answer = await askServer(context, { path, body: {}, about: ABOUT });
      const done = verb === "disable" ? "Disabled" : "Enabled";
      const { io } = context;
      io.stdout(context.flag("json") ? `${printableJson(answer)}\n` : `${done}: ${oneLine(id)}\n`);
      return EXIT.done.code;
    },
  };
}

/** The commands of operators about the agents of a running server. */
export const agentsSwitchCommands: readonly Command[] = [
  agentsStatusCommand,
  switchCommand("disable", "Accept no new tasks for an agent; its tasks go on"),
  switchCommand("enable", "Accept new tasks for an agent again"),
];

/** The id of the agent in the second argument. */
function readId(context: CommandContext): string {
  readUrl(context);
  const [, id = "", extra] = context.positionals;
  if (extra !== undefined) throw new UsageError(`"${extra}" is an unexpected argument.`);
  if (id !== "") return id;
  const line = commandLine(context, "agents status", []);
  throw new UsageError(`The id of the agent is missing; ${line} shows them.`);
}
