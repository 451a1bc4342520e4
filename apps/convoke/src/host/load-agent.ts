import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { AgentEntry } from "@convoke/host";
import { type Agent, checkAgentInfo } from "@convoke/protocol";
import { agentIdFrom, sleep } from "@convoke/protocol/internal";
import { type ConvokeConfig, StartError, configuredAgents } from "./config.ts";
import { parseProgram } from "./program-line.ts";
import {
  type FunctionTurn,
  type Yielded,
  artifact,
  defineAgent,
  fail,
  reject,
  reply,
  status,
} from "@convoke/runtime";

const COMMANDS: Readonly<Record<string, string>> = {
  "slow 50": "50 chunks, one after the other",
  ask: "a question for you",
  artifact: "a file and a record",
  message: "a message without a task",
  fail: "a failed task",
  reject: "a rejected task",
  auth: "a task that requires authorization",
};

/**
 * The agent that is served by default. It needs no API key and no network, and can put a task into
 * every state.
 */
export const demoAgent = defineAgent({
  id: "convoke-demo",
  name: "Convoke Demo",
  description:
    "Shows what an A2A agent can do, without a model: streams, asks, fails, makes files.",
  replies: true,
  // Nothing that it does needs to happen only once, so after a crash a task begins again. What it says
  // the second time is the same, so clients receive nothing twice.
  restart: true,
  skills: Object.entries(COMMANDS).map(([command, description]) => {
    const id = command.split(" ")[0] ?? command;
    return {
      id,
      name: id,
      description: `Answers with ${description}.`,
      tags: ["demo"],
      examples: [command],
    };
  }),
  async *run(turn) {
    const [command = "", argument] = turn.text.trim().split(/\s+/);
    switch (command.toLowerCase()) {
      case "slow":
        return yield* slow(turn, argument);
      case "ask":
        return `Hello, ${await turn.ask("What is your name?")}!`;
      case "artifact":
        yield artifact("notes.txt", new TextEncoder().encode("Made by the demo agent.\n"), {
          mediaType: "text/plain",
        });
        yield artifact("facts.json", { agent: "demo", answer: 42 }, { description: "A record." });
        return "One file and one record.";
      case "message":
        return reply("This is one message, and there is no task behind it.");
      case "fail":
        return fail("It failed, as you asked.");
      case "reject":
        return reject("I will not do that, as you asked.");
      case "auth":
        await turn.authRequired("Sign in wherever you like, then send me any message.");
        return "Thank you, you are in.";
      default:
        return yield* greeting(turn);
    }
  },
});

/** The default export of a file, or the demo agent. */
export async function loadAgent(file: string | undefined): Promise<Agent> {
  if (file === undefined) return demoAgent;
  const path = agentPath(file);
  const agent = await defaultExport(path).catch((error: unknown) => {
    throw new StartError(`${file} could not be loaded. ${adviceFor(error)}`, { cause: error });
  });
  if (isAgent(agent)) return checked(agent, file);
  throw new StartError(
    `${file} must export an agent: export default defineAgent({ name, description, run })`,
  );
}

/** An agent that is an object of its own is not checked by `defineAgent`. */
function checked(agent: Agent, file: string): Agent {
  try {
    checkAgentInfo(agent.info);
    return agent;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new StartError(`${file} cannot be served: ${error.message}.`, { cause: error });
  }
}

/** Where the agents of a server come from. */
interface AgentSources {
  readonly config: Pick<ConvokeConfig, "agents" | "default">;
  /** The files and folders of agents on the command line. */
  readonly files: readonly string[];
  /** The command lines of programs. */
  readonly processes: readonly string[];
}

/**
 * The demo agent, the agent of one file, or a list: those of the configuration, of several files or a
 * folder, and programs.
 */
export async function loadAgents(sources: AgentSources): Promise<Agent | readonly Agent[]> {
  const { config, files, processes } = sources;
  const { served } = configuredAgents(config);
  const [first, ...others] = files;
  if (served === undefined && processes.length === 0) {
    if (first === undefined && config.agents === undefined) return demoAgent;
    if (first !== undefined && others.length === 0 && !isFolder(first)) return loadAgent(first);
  }
  const entries = Object.entries(served ?? {});
  const agents = [
    ...(await Promise.all(entries.map(([id, entry]) => builtAgent(id, entry)))),
    ...(await Promise.all(agentFiles(files).map((file) => loadAgent(file)))),
    ...(await Promise.all(processes.map(programAgent))),
  ];
  checkAgents(agents, config);
  return agents;
}

function checkAgents(agents: readonly Agent[], { default: chosen }: AgentSources["config"]): void {
  if (agents.length === 0) {
    throw new StartError(
      "There is no agent to serve: add one to agents in the configuration, or name a file.",
    );
  }
  const ids = agents.map(({ id, info }) => id ?? agentIdFrom(info.name));
  const twice = ids.find((id, index) => ids.indexOf(id) < index);
  if (twice !== undefined) {
    throw new StartError(
      `Two agents have the id ${JSON.stringify(twice)}: set another id on one of them.`,
    );
  }
  if (chosen === undefined || ids.includes(chosen)) return;
  throw new StartError(
    `default in the configuration must be the id of an agent (${ids.join(", ")}), not ${JSON.stringify(chosen)}.`,
  );
}

/** The agent of a program that runs in the current folder. */
async function programAgent(line: string): Promise<Agent> {
  const program = parseProgram(line);
  if (program === undefined) throw new StartError("--process needs a program.");
  const { id, ...entry } = program;
  return builtAgent(id, { ...entry, workspace: process.cwd() });
}

/** Mistakes in an entry stop the start with one sentence. */
async function builtAgent(id: string, entry: AgentEntry): Promise<Agent> {
  // Loaded on demand: an agent that is a file starts faster without it.
  const { buildAgent } = await import("@convoke/host");
  try {
    return await buildAgent(id, entry, loadAgent);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new StartError(`${error.message.replace(/\.$/, "")}.`, { cause: error });
  }
}

/** Files of a folder that are agents. Others, such as tests and shared code, are in folders below or named otherwise. */
const AGENT_FILE = /^(?!.*\.(?:test|spec|config|d)\.)[^.].*\.[cm]?[jt]s$/;

/** The files of the agents that paths name: files, and the files in folders, by name. */
export function agentFiles(paths: readonly string[]): readonly string[] {
  return paths.flatMap((path) => {
    if (!isFolder(path)) return [path];
    const files = readdirSync(path).filter((name) => AGENT_FILE.test(name));
    if (files.length === 0) throw new StartError(`There is no agent in the folder ${path}.`);
    return files.toSorted().map((name) => join(path, name));
  });
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The absolute path of an agent's file, which must exist. */
export function agentPath(file: string): string {
  const path = resolve(file);
  const isFile = existsSync(path) && statSync(path).isFile();
  if (!isFile) throw new StartError(`There is no file ${file}.`);
  return path;
}

async function defaultExport(path: string): Promise<unknown> {
  return ((await import(pathToFileURL(path).href)) as { default?: unknown }).default;
}

/** The fix for a common mistake, or the stack trace of the error. */
function adviceFor(error: unknown): string {
  const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const { code = "", url = "" } = (error ?? {}) as {
    readonly code?: string;
    readonly url?: string;
  };
  if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") return unsupportedSyntax(told);
  if (code === "ERR_MODULE_NOT_FOUND") {
    const source = url.startsWith("file:") ? sourceFor(fileURLToPath(url)) : undefined;
    if (source !== undefined) return missingExtension(source);
  }
  const isCommonJs =
    error instanceof SyntaxError && /outside a module|Unexpected token 'export'/.test(told);
  const advice =
    'Its package.json has "type": "commonjs": rename the file to .mts, or set "type": "module".';
  return isCommonJs ? advice : `The error is: ${told}`;
}

const WITH_TSX =
  "or run npm install tsx and start with NODE_OPTIONS='--import tsx' in front of the command.";

/** Node removes types and transforms nothing, so it rejects TypeScript that generates code. */
function unsupportedSyntax(told: string): string {
  const [, construct = "such syntax"] = /TypeScript (.+) is not supported/.exec(told) ?? [];
  const [, place] = /^file:\/\/(\S+:\d+)$/m.exec(told) ?? [];
  const where = place === undefined ? "" : ` (${place})`;
  const fix = FIXES[construct] ?? "Write it in JavaScript";
  return `Node removes types but does not compile, so it cannot run ${construct}${where}. ${fix}, ${WITH_TSX}`;
}

const FIXES: Readonly<Record<string, string>> = {
  enum: "Use a union of strings or a constant object instead",
  "parameter property": "Declare a field and assign it in the constructor instead",
};

/** The file that an import without its extension, or with `.js`, means. */
function sourceFor(path: string): string | undefined {
  const bare = path.replace(/\.[cm]?js$/, "");
  const names = [".ts", ".mts", ".js", "/index.ts"].map((end) => `${bare}${end}`);
  return names.find((name) => existsSync(name));
}

function missingExtension(source: string): string {
  const name = basename(source);
  return `Node needs the extension of a file in an import: import ${name} by its whole name (${source}), ${WITH_TSX}`;
}

function isAgent(value: unknown): value is Agent {
  const agent = value as Partial<Agent> | undefined;
  return typeof agent?.run === "function" && typeof agent.info?.name === "string";
}

/** The delay between the chunks of `slow`. */
const PACE_MS = 20;

/** One second of `slow`. */
const CHUNKS_PER_STEP = 50;

async function* slow(
  { signal, step }: FunctionTurn,
  argument = "10",
): AsyncGenerator<Yielded, Yielded> {
  const count = Number(argument);
  if (!Number.isInteger(count) || count < 1 || count > 100_000) {
    return reject(`"slow" takes a number from 1 to 100000, not ${argument}.`);
  }
  yield status(`${count} chunks are coming.`);
  let due = Date.now();
  for (let chunk = 1; chunk < count; chunk++) {
    yield `${chunk} `;
    // Chunks that were due before a crash do not wait again, so that a long answer ends however often
    // the process is killed.
    if (chunk % CHUNKS_PER_STEP === 0)
      due = await step("pace", () => Date.now(), { id: String(chunk) });
    due += PACE_MS;
    await sleep(Math.max(0, Math.min(PACE_MS, due - Date.now())), signal);
  }
  return String(count);
}

async function* greeting({ text, conversation }: FunctionTurn): AsyncGenerator<Yielded, void> {
  const said = `You said: ${text.trim() || "nothing"}.`;
  const before = conversation.filter(({ role }) => role === "user").length;
  const remembered =
    before === 0 ? "" : ` I remember ${before} earlier message(s) of this conversation.`;
  const hint = ` Try: ${Object.keys(COMMANDS).join(", ")}.`;
  for (const word of `${said}${remembered}${hint}`.split(/(?<= )/)) yield word;
}
