import { type AgentDefinition, defineAgent } from "@convoke/runtime";
import type { Agent } from "@convoke/protocol";
import { didYouMean } from "@convoke/protocol/internal";
import { resolve } from "node:path";

/** What the card says, and how the agent is served: as in `defineAgent`. */
type CardOptions = Pick<
  AgentDefinition,
  | "id"
  | "name"
  | "description"
  | "version"
  | "skills"
  | "provider"
  | "documentationUrl"
  | "iconUrl"
  | "inputModes"
  | "outputModes"
  | "extensions"
  | "keepStreamOnInterrupt"
  | "restart"
  | "timeoutMs"
  | "onDisconnect"
  | "inputTimeout"
  | "scopes"
>;

/** A program, and how it is run as an agent. Nothing of it can come from a caller. */
export interface ProcessAgentOptions extends CardOptions {
  /** The program: a path, or a name that is found on the PATH. It is started without a shell. */
  readonly command: string;
  /** Default none. */
  readonly args?: readonly string[];
  /**
   * What the program speaks on its standard input and output: the Agent Client Protocol, as coding
   * agents do, or the JSON lines of docs/guide/process-agents.md.
   */
  readonly protocol: "acp" | "json-lines";
  /** The folder that the program works in. It must exist. */
  readonly workspace: string;
  /**
   * Whether each conversation has a folder of its own in the workspace, which is created when it is
   * needed. Default false: all conversations share the workspace.
   */
  readonly workspacePerSession?: boolean;
  /**
   * Variables for the program, such as its API key. It gets no other variable of this process except
   * PATH, HOME, LANG and the like, because they may hold secrets. Default none.
   */
  readonly env?: Readonly<Record<string, string>>;
  readonly limits?: ProcessLimits;
  /** ACP: the mode that new sessions start in, by the id that the program uses. Default: its own. */
  readonly mode?: string;
  /**
   * ACP: the modes that callers may choose with the setting `mode` of the coder extension. Default
   * none, because some modes of some programs run everything without asking.
   */
  readonly callerModes?: readonly string[];
  /** ACP: the method to sign in with when the program starts, if it needs that. Default: none. */
  readonly authMethod?: string;
  /**
   * ACP: whether the program reads and writes files through this process, which allows only those of
   * the workspace. Default false: programs use the file system themselves, because a server has no
   * unsaved files as an editor has, and some programs then cannot create new files.
   */
  readonly files?: boolean;
  /**
   * ACP: whether a message that starts with "/" or "$" can run a command of the program. Default
   * false: commands may install extensions or change settings, so such a message is passed on as text.
   */
  readonly slashCommands?: boolean;
}

/** What the program may use. */
export interface ProcessLimits {
  /** How long it may work on one prompt, without the time that it waits for answers. Default 2 h. */
  readonly promptMs?: number;
  /** How long it may take to start and open a session. Default 60 s: some load for long. */
  readonly startMs?: number;
  /** The resident memory of the program and everything it starts. Default 4 GiB. */
  readonly memoryBytes?: number;
  /** What it may print for one prompt. Default 64 MiB. */
  readonly outputBytes?: number;
  /** A process without work is stopped after this time. Default 10 min: it may hold much memory. */
  readonly idleMs?: number;
  /** How many processes may run at a time, one per conversation. Default 16. */
  readonly processes?: number;
  /**
   * How often a process that ends in the middle of a prompt is started again for it, if the program
   * can load the session. Default 2.
   */
  readonly restarts?: number;
  /** How long it may take to end after it was asked to, before SIGTERM, and then before SIGKILL. Default 2 s. */
  readonly graceMs?: number;
}

const DEFAULT_LIMITS: Required<ProcessLimits> = {
  promptMs: 2 * 60 * 60 * 1000,
  startMs: 60_000,
  memoryBytes: 4 * 1024 ** 3,
  outputBytes: 64 * 1024 ** 2,
  idleMs: 10 * 60 * 1000,
  processes: 16,
  restarts: 2,
  graceMs: 2000,
};

/** The options with every default. */
export interface ProcessSettings {
  readonly command: string;
  readonly args: readonly string[];
  readonly protocol: "acp" | "json-lines";
  /** Absolute. */
  readonly workspace: string;
  readonly workspacePerSession: boolean;
  readonly env: Readonly<Record<string, string>>;
  readonly limits: Required<ProcessLimits>;
  readonly mode: string | undefined;
  readonly callerModes: readonly string[];
  readonly authMethod: string | undefined;
  readonly files: boolean;
  readonly slashCommands: boolean;
}

/** What is not on the card. */
type ProgramOptions = Omit<ProcessAgentOptions, keyof CardOptions>;

const NAMES: Readonly<Record<keyof ProcessAgentOptions, true>> = {
  command: true,
  args: true,
  protocol: true,
  workspace: true,
  workspacePerSession: true,
  env: true,
  limits: true,
  mode: true,
  callerModes: true,
  authMethod: true,
  files: true,
  slashCommands: true,
  id: true,
  name: true,
  description: true,
  version: true,
  skills: true,
  provider: true,
  documentationUrl: true,
  iconUrl: true,
  inputModes: true,
  outputModes: true,
  extensions: true,
  keepStreamOnInterrupt: true,
  restart: true,
  timeoutMs: true,
  onDisconnect: true,
  inputTimeout: true,
  scopes: true,
};

/** Checks the options. Returns the settings of the process, and an agent that only has a card. */
export function readProcessOptions(options: ProcessAgentOptions): {
  readonly settings: ProcessSettings;
  readonly card: Agent;
} {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(NAMES, name));
  if (unknown !== undefined) {
    const names = Object.keys(NAMES);
    const guess = didYouMean(unknown, names) || ` The options are ${names.toSorted().join(", ")}.`;
    throw new TypeError(`processAgent has no option ${JSON.stringify(unknown)}.${guess}`);
  }
  const settings = processSettings(options);
  const facts = Object.entries(options).filter(([name]) => !Object.hasOwn(settings, name));
  const card = defineAgent({
    ...(Object.fromEntries(facts) as unknown as CardOptions),
    // Its workspace, and the records of its sessions, are on the disk of one machine.
    local: true,
    run: nothing,
  });
  return { settings, card };
}

function nothing(): void {
  // The program does the work.
}

/** Checks what concerns the program and completes it with the defaults. */
export function processSettings(options: ProgramOptions): ProcessSettings {
  const { command, args = [], protocol, workspace } = options;
  checkText("command", command);
  checkText("workspace", workspace);
  if (!args.every((one) => typeof one === "string")) {
    throw new TypeError("processAgent: args must be a list of texts; each is one argument");
  }
  if (protocol !== "acp" && protocol !== "json-lines") {
    throw new TypeError('processAgent: protocol must be "acp" or "json-lines"');
  }
  return {
    command,
    args,
    protocol,
    workspace: resolve(workspace),
    workspacePerSession: options.workspacePerSession ?? false,
    env: options.env ?? {},
    limits: readLimits(options.limits ?? {}),
    mode: options.mode,
    callerModes: options.callerModes ?? [],
    authMethod: options.authMethod,
    files: options.files ?? false,
    slashCommands: options.slashCommands ?? false,
  };
}

function checkText(name: string, value: unknown): void {
  if (typeof value === "string" && value !== "" && !value.includes("\0")) return;
  throw new TypeError(`processAgent: ${name} is required and must be a text`);
}

function readLimits(given: ProcessLimits): Required<ProcessLimits> {
  const limits = { ...DEFAULT_LIMITS };
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(limits, name)) {
      const names = Object.keys(limits).join(", ");
      throw new TypeError(`processAgent: limits has no ${JSON.stringify(name)}; it has ${names}`);
    }
    if (typeof value !== "number" || !(value >= 0)) {
      throw new TypeError(`processAgent: limits.${name} must be a number of at least 0`);
    }
    limits[name as keyof ProcessLimits] = value;
  }
  return limits;
}
