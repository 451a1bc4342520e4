import { type CoderOptions, coder } from "@convoke/coder";
import type { Agent } from "@convoke/protocol";
import { ModelError } from "@convoke/runtime";
import { realpathSync, statSync } from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import { CHAT_ENVIRONMENT, talk } from "../chat/talk.ts";
import { withAgent } from "../connect/connect-options.ts";
import { type ConvokeConfig, StartError, findConfig, loadConfig } from "../host/config.ts";
import { stateAt } from "./chat.ts";
import { startLines, startServer, stopOnSignal } from "../host/run-server.ts";
import type { AgentServer } from "../host/serve-agent.ts";
import { stateFolder } from "../host/state-folder.ts";
import { readSettings } from "../host/settings.ts";
import {
  type Command,
  type CommandContext,
  type CommandOption,
  EXIT,
  UsageError,
} from "../terminal/command.ts";
import { orNotStarted } from "./serve.ts";

const DEFAULT_PORT = "41242";

/** The options of a coding agent. */
export const CODER_OPTIONS = {
  model: {
    type: "string",
    value: "<name>",
    help: "The model, such as anthropic:… (CODER_AGENT_MODEL, demo: no AI)",
  },
  mode: {
    type: "string",
    value: "<mode>",
    help: "What it may do without asking: plan, ask, auto-edit or full (ask)",
  },
  "allow-root": {
    type: "string",
    value: "<folder>",
    multiple: true,
    help: "A folder in which callers may choose a workspace of their own",
  },
  config: {
    type: "string",
    value: "<file>",
    help: "The file with settings that are code; one in the workspace is used only if named",
  },
} as const satisfies Record<string, CommandOption>;

export const codeCommand: Command = {
  name: "code",
  summary: "Serve a coding agent for a folder, and talk to it",
  usage: "[folder] [options]",
  examples: [
    "convoke code",
    "convoke code ~/project --model anthropic:claude-sonnet-4-5",
    "convoke code ~/project --serve --port 4000",
    "convoke code ~/project --mode plan",
  ],
  options: {
    ...CODER_OPTIONS,
    serve: { type: "boolean", help: "Only serve; do not open a chat" },
    context: { type: "string", value: "<id>", help: "Continue this conversation" },
    task: {
      type: "string",
      value: "<id>",
      help: "Continue this task, for example to answer its question",
    },
    port: {
      type: "string",
      value: "<number>",
      help: `The port to listen on; 0 picks a free one (CODER_AGENT_PORT, ${DEFAULT_PORT})`,
    },
    data: {
      type: "string",
      value: "<folder>",
      help: 'The folder for tasks, or "memory" (CONVOKE_DATA, ~/.local/state/convoke/code/…)',
    },
  },
  environment: {
    CODER_AGENT_PORT: `The port to listen on (${DEFAULT_PORT})`,
    CODER_AGENT_WORKSPACE_PATH: "The folder to work in, unless one is given (.)",
    CODER_AGENT_MODEL: "The model (demo)",
    ...CHAT_ENVIRONMENT,
  },
  more: `All variables of convoke serve except PORT work here too, such as CONVOKE_TOKEN and BIND_HOST.
A file .env is not read, because it may belong to the workspace.`,
  run: code,
};

/** Serves a coding agent, and opens a chat with it if there is a terminal. */
async function code(context: CommandContext): Promise<number> {
  const { io, positionals } = context;
  if (positionals.length > 1) throw new UsageError("code takes one folder.");
  return orNotStarted(io, async () => {
    const isChat = io.keyboard !== undefined && io.isTTY.stdout && !context.flag("serve");
    const { agent, workspace, data, config } = await openCoder(context, { isForUser: isChat });
    const flags = {
      command: "code",
      files: positionals.slice(0, 1),
      port: context.text("port"),
      data,
      started: io.started,
    } as const;
    const env = { ...io.env, PORT: readPort(io.env) };
    const settings = readSettings(flags, env, config);
    const server = await startServer({ agent, settings, flags, io });
    if (isChat) return await chatAndStop(context, agent, server);
    io.stdout(banner(server, agent, { workspace, program: io.started.program }));
    await stopOnSignal(server, settings, io);
    return EXIT.done.code;
  });
}

/** The coding agent of the command line, and what it needs. */
interface OpenedCoder {
  readonly agent: Agent;
  readonly workspace: string;
  readonly data: string;
  readonly config: ConvokeConfig;
}

/** Who the coding agent is for. */
interface CoderUse {
  /** Its only caller is the user of this machine, who may switch to any mode. */
  readonly isForUser: boolean;
  /** Folders in which the caller may choose a workspace, in addition to those of `--allow-root`. */
  readonly roots?: readonly string[];
}

/** Creates the coding agent that the options of the command line describe. */
export async function openCoder(context: CommandContext, use: CoderUse): Promise<OpenedCoder> {
  const { io } = context;
  const config = await readConfig(context);
  const workspace = readWorkspace(context, config);
  // Outside the workspace, where the tools of the agent cannot change it.
  const data =
    context.text("data") ?? (io.env["CONVOKE_DATA"] || stateFolder("code", workspace, io.env));
  return { agent: makeCoder(context, { ...use, workspace, config }), workspace, data, config };
}

function readWorkspace({ positionals, io }: CommandContext, config: ConvokeConfig): string {
  const [folder] = positionals;
  const given =
    folder ?? (io.env["CODER_AGENT_WORKSPACE_PATH"] || (config.coder?.workspace ?? "."));
  const path = resolve(given);
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isFolder) throw new StartError(`There is no folder ${given}.`);
  return realpathSync(path);
}

function readPort(env: CommandContext["io"]["env"]): string {
  const port = env["CODER_AGENT_PORT"] || DEFAULT_PORT;
  if (/^\d{1,5}$/.test(port) && Number(port) <= 65_535) return port;
  throw new StartError(
    `CODER_AGENT_PORT must be a number from 0 to 65535, not ${JSON.stringify(port)}.`,
  );
}

/** A configuration is code, so one that belongs to the workspace is not run unless it is named. */
async function readConfig(context: CommandContext): Promise<ConvokeConfig> {
  const named = context.text("config");
  const file = named ?? findConfig();
  if (named !== undefined || file === undefined) return loadConfig(named);
  if (!isInside(realpathSync(file), readWorkspace(context, {}))) return loadConfig(undefined);
  context.io.stderr(
    `${file} is in the workspace, so it is not used. If you trust it: --config ${file}\n`,
  );
  return {};
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return !way.startsWith("..") && !isAbsolute(way);
}

function makeCoder(
  context: CommandContext,
  facts: CoderUse & Pick<OpenedCoder, "workspace" | "config">,
): Agent {
  const { coder: own = {} } = facts.config;
  const model = context.text("model") ?? context.io.env["CODER_AGENT_MODEL"];
  const mode = context.text("mode") as NonNullable<CoderOptions["policy"]>["mode"];
  const { isForUser, roots: more = [] } = facts;
  const roots = [...context.texts("allow-root"), ...more].map((root) => resolve(root));
  const policy = {
    ...(isForUser && { maxMode: "full" as const }),
    ...own.policy,
    ...(mode !== undefined && { mode }),
  };
  try {
    return coder({
      id: "coder",
      ...own,
      policy,
      workspace: facts.workspace,
      ...(model && { model }),
      ...(roots.length > 0 && { allowedRoots: roots }),
    });
  } catch (error) {
    if (error instanceof TypeError || error instanceof ModelError) {
      throw new StartError(`The coding agent cannot start: ${error.message}.`, { cause: error });
    }
    throw error;
  }
}

async function chatAndStop(
  context: CommandContext,
  agent: Agent,
  server: AgentServer,
): Promise<number> {
  try {
    const commands = (await agent.commands?.()) ?? [];
    return await withAgent({ ...context, positionals: [server.url] }, async (remote) =>
      talk({
        agent: remote,
        context,
        command: "code",
        state: await stateAt(context, remote),
        commands: commands.map(({ name, description }) => ({
          name: `/${name}`,
          help: description,
        })),
      }),
    );
  } finally {
    await server.close({ drainMs: 0 });
  }
}

function banner(
  { url, folder }: AgentServer,
  { info }: Agent,
  { workspace, program }: { readonly workspace: string; readonly program: string },
): string {
  const base = url.replace(/\/$/, "");
  const tasks = folder === undefined ? "in memory, lost when the server stops" : `in ${folder}`;
  return startLines([
    ["Running", `${info.name} at ${base}, tasks ${tasks}`],
    ["Folder", workspace],
    ["Look at", `${base}/.well-known/agent-card.json`],
    ["Type", `${program} chat ${base}`],
  ]);
}
