import { isObject, oneLine, printableJson } from "@convoke/protocol/internal";
import { readFileSync } from "node:fs";
import {
  AGENT_ENVIRONMENT,
  SERVER_OPTIONS,
  readUrl,
  rejectMoreArguments,
} from "../connect/agent-options.ts";
import { askServer, unreadable } from "../connect/ask-server.ts";
import { parseProgram } from "../host/program-line.ts";
import {
  type Command,
  type CommandContext,
  type CommandOption,
  EXIT,
  UsageError,
} from "../terminal/command.ts";
import { commandLine } from "../terminal/command-line.ts";
import { textField } from "../terminal/json-fields.ts";
import { coloursFor, table } from "../terminal/output.ts";

const PATH = "/convoke/agents";

const ABOUT = "changing its agents; it may serve a single agent, or have the API switched off";

/** What an agent is, on the command line. */
const DEFINITION_OPTIONS = {
  file: { type: "string", value: "<file>", help: "A JSON file with the definition; - for stdin" },
  name: { type: "string", value: "<name>", help: "Its name on the card" },
  description: { type: "string", value: "<text>", help: "What it does, for its card" },
  model: {
    type: "string",
    value: "<model>",
    multiple: true,
    help: "Its model, such as anthropic:…; several are tried in order",
  },
  instructions: { type: "string", value: "<text>", help: "The instructions of the model" },
  process: {
    type: "string",
    value: "<command>",
    help: "A program that speaks ACP or JSON lines (the server must allow it)",
  },
  workspace: { type: "string", value: "<folder>", help: "The folder of the program on the server" },
} as const satisfies Record<string, CommandOption>;

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

const HEADS = ["ID", "KIND", "SOURCE", "STATE", "RUNNING", "DESCRIPTION"] as const;

type AgentReport = Readonly<Record<string, unknown>>;

function statusRow(agent: AgentReport): readonly string[] {
  const problem = textField(agent, "problem");
  const state = [
    agent["isEnabled"] === true ? "enabled" : "disabled",
    ...(agent["isDefault"] === true ? ["default"] : []),
    ...(agent["isChanged"] === true ? ["changed"] : []),
    ...(problem === "" ? [] : [`problem: ${problem}`]),
  ].join(", ");
  return [
    textField(agent, "id"),
    textField(agent, "kind"),
    textField(agent, "source"),
    state,
    String(agent["running"]),
    textField(agent, "description"),
  ].map((text) => oneLine(text, 100));
}

const agentsAddCommand: Command = {
  name: "agents add",
  summary: "Add an agent to a running server",
  usage: "<url> <id> [options]",
  examples: [
    'convoke agents add http://127.0.0.1:3000 poet --description "Writes poems" --model anthropic:claude-sonnet-4-5',
    'convoke agents add http://127.0.0.1:3000 gemini --process "gemini --acp" --workspace /srv/project',
    "convoke agents add http://127.0.0.1:3000 poet --file poet.json",
  ],
  options: { ...DEFINITION_OPTIONS, ...SERVER_OPTIONS },
  environment: AGENT_ENVIRONMENT,
  run: async (context) => {
    const id = readId(context);
    const body = { ...(await readDefinition(context)), id };
    return report(context, await askServer(context, { path: PATH, body, about: ABOUT }), "Added");
  },
};

const agentsEditCommand: Command = {
  name: "agents edit",
  summary: "Change the definition of an agent; running tasks finish with the old one",
  usage: "<url> <id> [options]",
  examples: [
    'convoke agents edit http://127.0.0.1:3000 poet --instructions "Write haiku."',
    "convoke agents edit http://127.0.0.1:3000 poet --file poet.json --replace",
  ],
  options: {
    ...DEFINITION_OPTIONS,
    replace: { type: "boolean", help: "Replace the whole definition instead of the given fields" },
    ...SERVER_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: async (context) => {
    const path = `${PATH}/${encodeURIComponent(readId(context))}`;
    const body = await readDefinition(context);
    if (Object.keys(body).length === 0) throw new UsageError("Nothing is given to change.");
    const method = context.flag("replace") ? "PUT" : "PATCH";
    return report(
      context,
      await askServer(context, { path, method, body, about: ABOUT }),
      "Changed",
    );
  },
};

/** A command that only names an agent. */
function plainCommand(
  verb: "disable" | "enable" | "remove",
  summary: string,
  done: string,
): Command {
  return {
    name: `agents ${verb}`,
    summary,
    usage: "<url> <id> [options]",
    examples: [`convoke agents ${verb} http://127.0.0.1:3000 poet`],
    options: SERVER_OPTIONS,
    environment: AGENT_ENVIRONMENT,
    run: async (context) => {
      const path = `${PATH}/${encodeURIComponent(readId(context))}`;
      const question =
        verb === "remove"
          ? ({ path, method: "DELETE", about: ABOUT } as const)
          : { path: `${path}:${verb}`, body: {}, about: ABOUT };
      return report(context, await askServer(context, question), done);
    },
  };
}

/** The commands that change the agents of a running server. */
export const agentsChangeCommands: readonly Command[] = [
  agentsStatusCommand,
  agentsAddCommand,
  agentsEditCommand,
  plainCommand("disable", "Accept no new tasks for an agent; its tasks go on", "Disabled"),
  plainCommand("enable", "Accept new tasks for an agent again", "Enabled"),
  plainCommand("remove", "Remove an agent that was added, or the changes to one", "Removed"),
];

function report(context: CommandContext, answer: AgentReport, done: string): number {
  const id = context.positionals[1] ?? "";
  const { io } = context;
  io.stdout(context.flag("json") ? `${printableJson(answer)}\n` : `${done}: ${oneLine(id)}\n`);
  return EXIT.done.code;
}

/** The id of the agent in the second argument. */
function readId(context: CommandContext): string {
  readUrl(context);
  const [, id = "", extra] = context.positionals;
  if (extra !== undefined) throw new UsageError(`"${extra}" is an unexpected argument.`);
  if (id !== "") return id;
  const line = commandLine(context, "agents status", []);
  throw new UsageError(`The id of the agent is missing; ${line} shows them.`);
}

/** The fields of a definition: those of the file, and those on the command line, which win. */
async function readDefinition(context: CommandContext): Promise<AgentReport> {
  const { text, texts } = context;
  const models = texts("model");
  const line = text("process");
  const { id: _, ...program } = line === undefined ? NO_PROGRAM : readProgram(line);
  const given = ["name", "description", "instructions", "workspace"].flatMap((field) => {
    const value = text(field);
    return value === undefined ? [] : [[field, value] as const];
  });
  return {
    ...(await readFile(context)),
    ...program,
    ...(models.length > 0 && { model: models.length === 1 ? models[0] : models }),
    ...Object.fromEntries(given),
  };
}

const NO_PROGRAM: Partial<ReturnType<typeof readProgram>> = {};

function readProgram(line: string): NonNullable<ReturnType<typeof parseProgram>> {
  const program = parseProgram(line);
  if (program === undefined) throw new UsageError("--process needs a program.");
  return program;
}

async function readFile({ io, text }: CommandContext): Promise<AgentReport> {
  const file = text("file");
  if (file === undefined) return {};
  let content: unknown;
  try {
    content = JSON.parse(file === "-" ? await io.stdin.rest() : readFileSync(file, "utf8"));
  } catch (error) {
    const why = error instanceof SyntaxError ? "is not JSON" : "cannot be read";
    throw new UsageError(`--file: ${file} ${why}.`, { cause: error });
  }
  if (isObject(content)) return content;
  throw new UsageError(`--file: ${file} must be an object such as {"model": "demo"}.`);
}
