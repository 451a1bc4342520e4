import {
  type Command,
  type CommandContext,
  type CommandGroup,
  EXIT,
  UsageError,
} from "../terminal/command.ts";
import {
  type ApiKeyRecord,
  type ApiKeyStore,
  KEY_FILE,
  KeyFileError,
  KeyFileStore,
  SharedKeyStore,
  createApiKey,
  keyState,
  rotateApiKey,
} from "@convoke/server";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { oneLine } from "@convoke/protocol/internal";
import { type CardAlgorithm, type CardKey, generateCardKey } from "@convoke/protocol";

const ALGORITHMS = ["ES256", "ES384", "EdDSA"] as const satisfies readonly CardAlgorithm[];

const keysCardCommand: Command = {
  name: "keys card",
  summary: "Create a key that signs the card of an agent",
  usage: "[options]",
  examples: [
    "convoke keys card --out card-key.json",
    "CONVOKE_CARD_KEY=card-key.json convoke serve agent.ts",
  ],
  options: {
    out: { type: "string", value: "<file>", help: "The file to write (card-key.json)" },
    alg: {
      type: "string",
      value: "<name>",
      choices: ALGORITHMS,
      help: `One of ${ALGORITHMS.join(", ")} (ES256)`,
    },
  },
  run: keysCard,
};

/** Which API keys a command changes. */
const PLACE_OPTIONS: Command["options"] = {
  file: {
    type: "string",
    value: "<file>",
    help: `The file with the keys (CONVOKE_API_KEYS, ${KEY_FILE})`,
  },
  data: { type: "string", value: "<folder>", help: "The data folder that has the file" },
  database: {
    type: "string",
    value: "<address>",
    help: "The Postgres database with the keys instead of a file (DATABASE_URL)",
  },
};

const PLACE_ENVIRONMENT: Command["environment"] = {
  CONVOKE_API_KEYS: 'The file with the keys; "database" if they are in the database',
  DATABASE_URL: "The database with the keys, if no file is named",
};

const keysCreateCommand: Command = {
  name: "keys create",
  summary: "Create an API key for a caller",
  usage: "<name> [options]",
  examples: [
    "convoke keys create ci",
    "convoke keys create ann --owner ann@example.com --scopes read,admin --expires 90d",
    "CONVOKE_API_KEYS=api-keys.json convoke serve agent.ts",
    "convoke keys create ci --database postgres://convoke@db/convoke",
  ],
  options: {
    owner: { type: "string", value: "<owner>", help: "Owns the tasks of the caller (the name)" },
    tenant: { type: "string", value: "<tenant>", help: "The tenant that the caller belongs to" },
    scopes: { type: "string", value: "<list>", help: "What the caller may do, with commas" },
    expires: { type: "string", value: "<time>", help: "How long it is valid, such as 90d (ever)" },
    ...PLACE_OPTIONS,
  },
  environment: PLACE_ENVIRONMENT,
  more: "The key is printed once and stored nowhere: the file or database has its hash.",
  run: (context) => withKeys(context, keysCreate),
};

const keysListCommand: Command = {
  name: "keys list",
  summary: "List the API keys of a server",
  usage: "[options]",
  examples: ["convoke keys list", "convoke keys list --json"],
  options: {
    json: { type: "boolean", help: "Print JSON, one key per line" },
    ...PLACE_OPTIONS,
  },
  environment: PLACE_ENVIRONMENT,
  run: (context) => withKeys(context, keysList),
};

const keysRevokeCommand: Command = {
  name: "keys revoke",
  summary: "Revoke API keys at once",
  usage: "<name or id> [options]",
  examples: ["convoke keys revoke ci"],
  options: PLACE_OPTIONS,
  environment: PLACE_ENVIRONMENT,
  run: (context) => withKeys(context, keysRevoke),
};

const keysRotateCommand: Command = {
  name: "keys rotate",
  summary: "Replace an API key; the old one stays valid for a while",
  usage: "<name> [options]",
  examples: ["convoke keys rotate ci", "convoke keys rotate ci --grace 1h"],
  options: {
    grace: { type: "string", value: "<time>", help: "How long the old key stays valid (24h)" },
    ...PLACE_OPTIONS,
  },
  environment: PLACE_ENVIRONMENT,
  run: (context) => withKeys(context, keysRotate),
};

export const keysCommands: CommandGroup = {
  name: "keys",
  summary: "Create and manage the keys of a server",
  commands: [
    keysCreateCommand,
    keysListCommand,
    keysRevokeCommand,
    keysRotateCommand,
    keysCardCommand,
  ],
};

/** The API keys that a command is about. */
interface Keys {
  readonly store: ApiKeyStore;
  /** Where they are, for people. */
  readonly place: string;
  /** The value of CONVOKE_API_KEYS with which a server uses them. */
  readonly setting: string;
}

/** The value of CONVOKE_API_KEYS for keys in the database. */
const IN_DATABASE = "database";

/** Finds the keys that a command is about. A problem with them is one sentence. */
async function withKeys(
  context: CommandContext,
  run: (context: CommandContext, keys: Keys) => Promise<void>,
): Promise<number> {
  try {
    const file = fileOf(context);
    if (file === undefined) await withDatabase(context, (keys) => run(context, keys));
    else await run(context, { store: new KeyFileStore(file), place: file, setting: file });
    return EXIT.done.code;
  } catch (error) {
    if (isNamed(error, "StartError")) throw new UsageError(error.message);
    const isExplained = error instanceof KeyFileError || isNamed(error, "DatabaseError");
    if (!isExplained) throw error;
    const { message } = error;
    throw new UsageError(`${message.charAt(0).toUpperCase()}${message.slice(1)}.`);
  }
}

/** The file with the keys; `undefined` if they are in a database. */
function fileOf({ text, io: { env } }: CommandContext): string | undefined {
  const [file, data, database] = [text("file"), text("data"), text("database")];
  const given = [file, data, database].filter((one) => one !== undefined);
  if (given.length > 1) throw new UsageError("Give only one of --file, --data and --database.");
  if (database !== undefined) return undefined;
  if (data !== undefined) return join(data, KEY_FILE);
  const named = file ?? (env["CONVOKE_API_KEYS"] || undefined);
  if (file === undefined && named === IN_DATABASE) return undefined;
  return named ?? (env["DATABASE_URL"] ? undefined : KEY_FILE);
}

async function withDatabase(
  { text, io }: CommandContext,
  run: (keys: Keys) => Promise<void>,
): Promise<void> {
  const { readDatabase } = await import("../host/settings.ts");
  const url = readDatabase({ database: text("database") }, io.env);
  if (url === undefined) {
    throw new UsageError("Say which database has the keys, with --database or DATABASE_URL.");
  }
  const { openPostgresValues } = await import("@convoke/backends/postgres");
  await using values = await openPostgresValues({ url });
  const store = new SharedKeyStore(values.open);
  await run({ store, place: "the database", setting: IN_DATABASE });
}

function isNamed(error: unknown, name: string): error is Error {
  return error instanceof Error && error.name === name;
}

async function keysCreate(context: CommandContext, { store, setting }: Keys): Promise<void> {
  const name = onlyName(context);
  const { owner = name, tenant } = { owner: context.text("owner"), tenant: context.text("tenant") };
  const expires = context.text("expires");
  const scopes = (context.text("scopes") ?? "").split(",").map((scope) => scope.trim());
  const { key, record } = createApiKey({
    name,
    owner,
    ...(tenant !== undefined && { tenant }),
    scopes: scopes.filter((scope) => scope !== ""),
    ...(expires !== undefined && {
      expiresAt: new Date(Date.now() + readDuration("--expires", expires)),
    }),
  });
  await store.update((records) => {
    if (records.some((one) => one.name === name && keyState(one, Date.now()) === "active")) {
      throw new UsageError(
        `There is an active key with the name ${name}. Replace it with: convoke keys rotate ${name}`,
      );
    }
    return [...records, record];
  });
  context.io.stdout(`${key}\n`);
  context.io.stderr(
    `This is the key of ${name}. It is not stored, so keep it now. Callers send it as X-API-Key or as a bearer token. Serve with CONVOKE_API_KEYS=${setting}\n`,
  );
}

async function keysList(context: CommandContext, { store, place, setting }: Keys): Promise<void> {
  const records = await store.read();
  if (records === undefined) {
    const isFile = setting !== IN_DATABASE;
    throw new KeyFileError(isFile ? `there is no file ${place}` : `there are no keys in ${place}`);
  }
  const now = Date.now();
  for (const { hash: _, ...record } of records) {
    const facts = { ...record, state: keyState({ ...record, hash: "" }, now) };
    context.io.stdout(`${context.flag("json") ? JSON.stringify(facts) : keyLine(facts)}\n`);
  }
}

function keyLine(facts: Omit<ApiKeyRecord, "hash"> & { readonly state: string }): string {
  const { id, name, owner, tenant, scopes = [], state, createdAt, expiresAt } = facts;
  const end = expiresAt === undefined ? "" : `, expires ${expiresAt}`;
  const place = tenant === undefined ? "" : ` in ${tenant}`;
  const may = scopes.length === 0 ? "" : `, scopes ${scopes.join(" ")}`;
  return oneLine(
    `${name} ${state} ${id} owner ${owner}${place}${may}, created ${createdAt}${end}`,
    500,
  );
}

async function keysRevoke(context: CommandContext, { store }: Keys): Promise<void> {
  const name = onlyName(context);
  const revokedAt = new Date().toISOString();
  let count = 0;
  await store.update((records) => {
    count = 0;
    const revoked = records.map((record) => {
      const isMeant = record.name === name || record.id === name;
      if (!isMeant || record.revokedAt !== undefined) return record;
      count++;
      return { ...record, revokedAt };
    });
    if (count === 0) throw new KeyFileError(`there is no key with the name or id ${name}`);
    return revoked;
  });
  context.io.stdout(`${count} key(s) of ${name} are revoked.\n`);
}

async function keysRotate(context: CommandContext, { store }: Keys): Promise<void> {
  const name = onlyName(context);
  const grace = context.text("grace") ?? "24h";
  const graceMs = readDuration("--grace", grace);
  let key = "";
  await store.update((records) => {
    const rotated = rotateApiKey(records, name, { graceMs });
    key = rotated.key;
    return rotated.records;
  });
  context.io.stdout(`${key}\n`);
  context.io.stderr(`This is the new key of ${name}. The old one stays valid for ${grace}.\n`);
}

function onlyName({ positionals }: CommandContext): string {
  const [name = "", ...others] = positionals;
  if (name.trim() !== "" && others.length === 0) return name;
  throw new UsageError("Give the name of one key, such as ci.");
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function readDuration(option: string, value: string): number {
  const [, count = "", unit = ""] = /^(\d{1,5})([mhd])$/.exec(value) ?? [];
  const ms = Number(count) * (UNITS[unit] ?? NaN);
  if (count !== "" && !Number.isNaN(ms)) return ms;
  throw new UsageError(`${option} must be minutes, hours or days, as in 30m, 24h or 90d.`);
}

async function keysCard(context: CommandContext): Promise<number> {
  if (context.positionals.length > 0) throw new UsageError("convoke keys card takes no arguments.");
  const file = context.text("out") ?? "card-key.json";
  const alg = readAlgorithm(context.text("alg") ?? "ES256");
  const { kid, privateKey } = await generateCardKey(alg);
  writeNew(file, `${JSON.stringify({ kid, alg, privateKey } satisfies CardKey, undefined, 2)}\n`);
  context.io.stdout(
    `${file} signs cards as ${kid}. Keep it secret, and serve with CONVOKE_CARD_KEY=${file}\n`,
  );
  return EXIT.done.code;
}

function readAlgorithm(value: string): CardAlgorithm {
  const alg = ALGORITHMS.find((name) => name === value);
  if (alg !== undefined) return alg;
  throw new UsageError(`--alg must be one of ${ALGORITHMS.join(", ")}, not "${value}".`);
}

/** For its owner alone, and never over a key that may be in use. */
function writeNew(file: string, text: string): void {
  try {
    writeFileSync(file, text, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new UsageError(`${file} exists already; choose another name with --out.`);
  }
}
