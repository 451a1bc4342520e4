import type { AgentsPlace, StoredAgent, StoredAgents } from "@convoke/server";
import { isObject } from "@convoke/protocol/internal";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { DATABASE_ENVIRONMENT, isDatabaseUrl } from "../terminal/database-url.ts";

export const agentsStoredCommand: Command = {
  name: "agents stored",
  summary: "Print agents that were added or changed on a running server, as code",
  usage: "<folder | database> [options]",
  examples: [
    "convoke agents stored .convoke/host",
    "convoke agents stored postgres://convoke@db/convoke",
  ],
  options: {},
  environment: DATABASE_ENVIRONMENT,
  more: `Earlier versions let operators add and change agents on a running server. Put what this prints into
convoke.config.ts, and start the server once with --stored-agents-taken-over; nothing is deleted.

Secrets are not printed: the lines read them from environment variables, and the command says where
the values are. These are all headers and environment variables, tokens, keys and passwords by the
names of their fields, and addresses with a query. Of arguments of programs, those after or in an
option with such a name. Look through the rest before you share it.`,
  run: printStored,
};

async function printStored(context: CommandContext): Promise<number> {
  const { io } = context;
  const [place = io.env["DATABASE_URL"] ?? "", extra] = context.positionals;
  if (extra !== undefined) throw new UsageError(`"${extra}" is an unexpected argument.`);
  if (place === "") {
    throw new UsageError("The data folder, or the address of the database, is missing.");
  }
  io.stdout(await (isDatabaseUrl(place) ? fromDatabase(place) : fromFolder(place)));
  return EXIT.done.code;
}

async function fromFolder(folder: string): Promise<string> {
  if (!existsSync(folder)) throw new UsageError(`There is no folder ${folder}.`);
  return storedText(await read({ folder }), join(folder, "agents.json"));
}

async function fromDatabase(url: string): Promise<string> {
  const { openPostgresValues, schemaOf } = await import("@convoke/backends/postgres");
  await using database = await openPostgresValues({ url });
  const where = `SELECT value FROM ${schemaOf(url)}.kv WHERE collection = 'agents'`;
  return storedText(await read({ values: database.open }), where);
}

async function read(place: AgentsPlace): Promise<StoredAgents> {
  const { StoredAgentsError, readStoredAgents } = await import("@convoke/server");
  try {
    return await readStoredAgents(place);
  } catch (error) {
    if (error instanceof StoredAgentsError) throw new UsageError(`${error.message}.`);
    throw error;
  }
}

/** @param where finds the values of secrets */
function storedText({ agents }: StoredAgents, where: string): string {
  const code = new CodeWithoutSecrets();
  const entries = Object.entries(agents).flatMap(([id, agent]) => entryLines(id, agent, code));
  if (entries.length === 0) return "Nothing is stored that has to be taken over.\n";
  const secrets = [...code.secrets].map(([name, path]) => `//   ${name}: ${path}\n`);
  const told = `\n// Set these variables. Their values, which are not printed, are in\n//   ${where}\n${secrets.join("")}`;
  return `agents: {\n${entries.join("")}},\n${secrets.length === 0 ? "" : told}`;
}

function entryLines(id: string, stored: StoredAgent, code: CodeWithoutSecrets): readonly string[] {
  const { definition, changes, isDisabled } = stored;
  const removed = Object.keys(changes ?? {}).filter((field) => changes?.[field] === null);
  const gone = removed.length === 0 ? "" : `, and ${removed.join(" and ")} goes`;
  const note = isDisabled === true ? "  // It is disabled, and stays so.\n" : "";
  const line = (path: readonly string[], value: object): string =>
    `  ${keyOf(id)}: ${code.of(value, [id, ...path], "  ")},\n`;
  if (definition !== undefined) return [note + line(["definition"], definition)];
  if (changes === undefined) return [];
  const kept = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== null));
  return [
    `${note}  // These fields replace those of the entry that you have${gone}.\n`,
    line(["changes"], kept),
  ];
}

/** Writes values as TypeScript, with environment variables in the place of secrets. */
class CodeWithoutSecrets {
  /** The names of the variables, and where their values are stored. */
  readonly secrets = new Map<string, string>();

  /** @param path the id of the agent, and where its value is below that */
  of(value: unknown, path: readonly string[], indent: string, before?: unknown): string {
    if (typeof value === "string") {
      return isSecret(value, path, before) ? this.#variable(path) : JSON.stringify(value);
    }
    const inner = `${indent}  `;
    if (Array.isArray(value)) {
      const lines = value.map((each, index) =>
        this.of(each, [...path, String(index)], inner, value[index - 1]),
      );
      return block(["[", lines, "]"], indent);
    }
    if (!isObject(value)) return JSON.stringify(value);
    const lines = Object.entries(value).map(
      ([name, each]) => `${keyOf(name)}: ${this.of(each, [...path, name], inner)}`,
    );
    return block(["{", lines, "}"], indent);
  }

  #variable(path: readonly string[]): string {
    const [id, , ...fields] = path;
    const words = [id, ...fields].join("_").replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_");
    let name = words.replaceAll(/\W+/g, "_").toUpperCase();
    while (this.secrets.has(name)) name += "_2";
    this.secrets.set(name, ["agents", ...path].join("."));
    return `process.env.${name} ?? ""`;
  }
}

function block(
  [open, lines, close]: readonly [string, readonly string[], string],
  indent: string,
): string {
  if (lines.length === 0) return open + close;
  return `${open}\n${lines.map((line) => `${indent}  ${line},\n`).join("")}${indent}${close}`;
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** Names of fields and options whose values are secret. */
const SECRET_NAME = /token|secret|passw|credential|authori[sz]ation|api[-_]?key|(?:^|[-_])key$/i;

/** Of these fields every value counts as secret: their names do not say which ones are. */
const SECRET_FIELDS: ReadonlySet<string> = new Set(["headers", "env"]);

/** @param before the element before it in a list, which may be the option whose value it is */
function isSecret(text: string, [, , ...fields]: readonly string[], before: unknown): boolean {
  const name = fields.at(-1) ?? "";
  const isElement = /^\d+$/.test(name);
  const own = isElement ? (/^(-{0,2}[\w-]+)=/.exec(text)?.[1] ?? "") : name;
  const option = typeof before === "string" && before.startsWith("-") ? before : "";
  return (
    fields.slice(0, -1).some((field) => SECRET_FIELDS.has(field)) ||
    [own, option].some((one) => SECRET_NAME.test(one)) ||
    isTellingUrl(text)
  );
}

/** An address with credentials or parameters, which may identify its user. */
function isTellingUrl(text: string): boolean {
  if (!/^https?:/i.test(text) || !URL.canParse(text)) return false;
  const { username, password, search, hash } = new URL(text);
  return `${username}${password}${search}${hash}` !== "";
}
