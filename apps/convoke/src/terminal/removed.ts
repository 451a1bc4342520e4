/**
 * What earlier versions had and this one has not: each name with the sentence that says what to do
 * instead. A setting that was honoured once and is ignored now would change a server in silence, so
 * a removed one that is still set ends the start.
 */

const ONE_SERVER_EACH =
  "start one server per core instead, each with its own --port, behind a load balancer.";

const LISTS =
  "there is no registry of agents any more; name agents elsewhere by URL in agents of the configuration: /.well-known/agents.json lists them, and convoke agents <url> searches that list.";

/** Environment variables of servers. */
const VARIABLES: Readonly<Record<string, string>> = {
  CONVOKE_RG: "CONVOKE_RG is no longer used: the file tools search by themselves. Unset it.",
  CONVOKE_REGISTRY: `CONVOKE_REGISTRY is no longer used: ${LISTS} Unset it.`,
  CONVOKE_REGISTRY_ALLOW: `CONVOKE_REGISTRY_ALLOW is no longer used: ${LISTS} Unset it.`,
  CONVOKE_WORKERS: `CONVOKE_WORKERS is no longer used: ${ONE_SERVER_EACH} Unset it.`,
};

/** The same, where the tasks are in a database: elsewhere the names may be for something else. */
const DATABASE_VARIABLES: Readonly<Record<string, string>> = {
  NATS_URL:
    "NATS_URL is no longer used: servers on one database notify each other by the database. Unset it for this server; if your agent uses NATS, pass the address under another name.",
};

/** Options, without the dashes. */
const OPTIONS: Readonly<Record<string, string>> = {
  nats: "--nats was removed: servers on one database notify each other by the database. Leave it out.",
  workers: `--workers was removed: ${ONE_SERVER_EACH}`,
  files:
    "--files is for convoke migrate only. A backup of a folder has its files, and a database is backed up by its own tools: run pg_dump, and then copy the folder of the files.",
  undo: "convoke migrate --undo was removed. To use a folder again as it was before a move, delete its transfer.json. To remove what a move has left in a database, execute DROP SCHEMA convoke CASCADE.",
};

/** Settings of `convoke.config.ts`. */
const CONFIG: Readonly<Record<string, string>> = {
  registry: `registry was removed: ${LISTS}`,
  allowModules:
    "allowModules was removed, because agents are not added to a running server any more: delete it.",
  allowProcesses:
    "allowProcesses was removed, because agents are not added to a running server any more: delete it.",
};

/** Commands by their full names. */
const COMMANDS: Readonly<Record<string, string>> = {
  ...registryCommands("heartbeat", "register", "report", "route", "search", "unregister"),
  watch: "convoke watch is convoke tasks <url> [task] --watch now.",
  "agents add":
    "convoke agents add was removed: add the agent to agents in convoke.config.ts, and restart the server. Unfinished tasks are resumed.",
  "agents edit":
    "convoke agents edit was removed: change the agent in convoke.config.ts, and restart the server. Unfinished tasks are resumed.",
  "agents remove":
    "convoke agents remove was removed: remove the agent from convoke.config.ts, and restart the server; or use convoke agents disable.",
};

/** Formats of `convoke export`. */
const FORMATS: Readonly<Record<string, string>> = {
  json: "--format json was removed: convoke export writes JSON Lines, of which jq -s makes an array.",
  md: "--format md was removed: convoke export writes JSON Lines; convoke log <url> <task> is for people.",
};

function registryCommands(...names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.map((name) => [`agents ${name}`, `convoke agents ${name} was removed: ${LISTS}`]),
  );
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The sentence about the first removed variable that is set. */
export function removedVariable(env: Environment, hasDatabase: boolean): string | undefined {
  const variables = { ...VARIABLES, ...(hasDatabase && DATABASE_VARIABLES) };
  return Object.entries(variables).find(([name]) => Boolean(env[name]))?.[1];
}

/** The sentence about a setting of `convoke.config.ts`, if it was removed. */
export function removedConfig(name: string): string | undefined {
  return CONFIG[name];
}

/** The sentence about a command, if it was removed. */
export function removedCommand(words: readonly string[]): string | undefined {
  return COMMANDS[words.join(" ")] ?? COMMANDS[words[0] ?? ""];
}

/** The sentence about a format of `convoke export`, if it was removed. */
export function removedFormat(name: string): string | undefined {
  return Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
}

/** An option that was removed is on the command line of a server. Its message is for the user. */
export class RemovedOption extends Error {
  override readonly name = "RemovedOption";

  /** @param typed the option as it was written: `--nats` */
  static from(typed: string): RemovedOption | undefined {
    const sentence = OPTIONS[typed.replace(/^--/, "")];
    return sentence === undefined ? undefined : new RemovedOption(sentence);
  }
}
