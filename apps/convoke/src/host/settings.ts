import {
  type Authenticator,
  type CardOptions,
  type CorsOptions,
  type InboundOptions,
  KeyFileError,
  type RateLimitOptions,
  type RemoteEntries,
  apiKeys,
  bearer,
  normalizeOrigins,
  oidc,
  parseRateLimits,
  readKeyFile,
} from "@convoke/server";
import {
  DEFAULT_LIMITS,
  type FileOptions,
  type Limits,
  type LogLevel,
  type PushOptions,
  type RetentionOptions,
} from "@convoke/engine";
import { type ConvokeConfig, StartError, configuredAgents } from "./config.ts";
import { readFiles } from "./file-settings.ts";
import { type ServeFlags, openToTheWorld } from "./start-problems.ts";
import { didYouMean } from "../terminal/command-line.ts";
import { isDatabaseUrl } from "../terminal/database-url.ts";
import { removedVariable } from "../terminal/removed.ts";
import { createEgress } from "@convoke/egress";
import { signDelivery } from "@convoke/egress/webhooks";
import { readFileSync } from "node:fs";
import { type AgentInfo, type CardKey, readA2AEnvironment } from "@convoke/protocol";
import { isLoopbackHost, isObject } from "@convoke/protocol/internal";

/** How log lines are written. "auto" is for people on a terminal and JSON elsewhere. */
type LogFormat = "auto" | "pretty" | "json";

type Environment = Readonly<Record<string, string | undefined>>;

/** The settings of `convoke serve`: from flags, then the environment, then defaults for local development. */
export interface ServeSettings {
  readonly port: number;
  readonly host: string;
  /** Absent for the agent's own folder in `.convoke`. */
  readonly data?: string;
  /** The address of a database that holds the tasks instead of the folder. */
  readonly database?: string;
  /** Identifies this machine among those that use the database. */
  readonly hostId?: string;
  /** Whether the tables of the database are created and changed as needed. */
  readonly migrate: boolean;
  /** Whether the agents include those that were added or changed on a running server. */
  readonly storedAgentsTakenOver: boolean;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  /** How long running tasks may take to finish after a signal, in milliseconds. */
  readonly drainMs: number;
  readonly allowedHosts: readonly string[];
  readonly cors: CorsOptions;
  readonly limits: Partial<Limits>;
  readonly files: FileOptions;
  readonly rateLimits: RateLimitOptions | false;
  /** Absent for the default, which depends on `host`. */
  readonly metrics?: boolean;
  /** Absent for the default, which depends on `host`. */
  readonly readApi?: boolean;
  /** Absent for the default, which depends on `host`. */
  readonly console?: boolean;
  readonly inbound: InboundOptions;
  readonly push: PushOptions;
  readonly retention: Partial<RetentionOptions>;
  readonly card: CardOptions;
  readonly trustProxy: boolean;
  readonly streaming: boolean;
  readonly finalMessage: boolean;
  readonly strict: boolean;
  readonly extendedCard?: () => Partial<AgentInfo>;
  readonly idempotency: "extension" | "always";
  /** Absent if every caller is accepted. */
  readonly auth?: readonly Authenticator[];
  readonly publicUrl?: string;
  /** The agents of the configuration that are at other addresses. */
  readonly remoteAgents: RemoteEntries;
}

/** @param config the settings of `convoke.config.ts`, which the environment overrides */
export function readSettings(
  flags: ServeFlags,
  env: Environment,
  given: ConvokeConfig = {},
): ServeSettings & ServerConfig {
  const { coder: _, agents: _agents, ...config } = given;
  const database = readDatabase(flags, env);
  const removed = removedVariable(env, database !== undefined);
  if (removed !== undefined) throw new StartError(removed);
  const auth = readAuth(env, database);
  const own: ServerConfig = auth.length > 0 ? withoutAuth(config) : config;
  const publicUrl = readUrl(env["PUBLIC_URL"] || undefined);
  const host = env["BIND_HOST"] || "127.0.0.1";
  const data = flags.data ?? (env["CONVOKE_DATA"] || undefined);
  const settings = {
    ...own,
    remoteAgents: configuredAgents(given).remote,
    port:
      flags.port === undefined
        ? readPort("PORT", env["PORT"] || "3000")
        : readPort("--port", flags.port),
    host,
    drainMs: readDuration(env["CONVOKE_DRAIN_MS"] || "10000"),
    logLevel: readLevel(env["CONVOKE_LOG"] || undefined),
    logFormat: readLogFormat(env["CONVOKE_LOG_FORMAT"] || "auto"),
    allowedHosts: commaList(env["CONVOKE_ALLOWED_HOSTS"]).map(readHost),
    cors: readCors(env["CONVOKE_CORS_ORIGINS"]),
    limits: { ...config.limits, ...readLimits(env["CONVOKE_LIMITS"]) },
    files: readFiles(env, config.files),
    rateLimits: readRateLimits(env["CONVOKE_RATE_LIMIT"]),
    ...(env["CONVOKE_METRICS"] && {
      metrics: readSwitch("CONVOKE_METRICS", env["CONVOKE_METRICS"]),
    }),
    ...(env["CONVOKE_READ_API"] && {
      readApi: readSwitch("CONVOKE_READ_API", env["CONVOKE_READ_API"]),
    }),
    ...(env["CONVOKE_CONSOLE"] && {
      console: readSwitch("CONVOKE_CONSOLE", env["CONVOKE_CONSOLE"]),
    }),
    ...(env["CONVOKE_AGENT_API"] && {
      agentApi: readSwitch("CONVOKE_AGENT_API", env["CONVOKE_AGENT_API"]),
    }),
    inbound: { perMinute: readA2AEnvironment(env).inboundPerMinute },
    push: readPush(env),
    retention: { ...config.retention, ...readRetention(env) },
    card: readCard(env),
    streaming: readSwitch("CONVOKE_STREAMING", env["CONVOKE_STREAMING"] || "1"),
    finalMessage:
      flags.finalMessage ?? readSwitch("CONVOKE_FINAL_MESSAGE", env["CONVOKE_FINAL_MESSAGE"]),
    strict: readSwitch("CONVOKE_STRICT", env["CONVOKE_STRICT"]),
    ...readExtendedCard(env["CONVOKE_EXTENDED_CARD"]),
    trustProxy: readSwitch("CONVOKE_TRUST_PROXY", env["CONVOKE_TRUST_PROXY"]),
    ...(data !== undefined && { data }),
    ...(database !== undefined && { database }),
    ...readHostId(env["CONVOKE_HOST_ID"]),
    storedAgentsTakenOver: flags.storedAgentsTakenOver === true,
    migrate: !(flags.noMigrate ?? readSwitch("CONVOKE_NO_MIGRATE", env["CONVOKE_NO_MIGRATE"])),
    idempotency: readIdempotency(env["CONVOKE_IDEMPOTENCY"] || "extension"),
    ...(auth.length > 0 && { auth }),
    ...(publicUrl !== undefined && { publicUrl }),
  };
  const { allowAnonymous = false } = config;
  const isOpen = settings.auth === undefined && own.authenticate === undefined && !allowAnonymous;
  if (isOpen && !isLoopbackHost(host)) throw openToTheWorld(host, flags);
  return settings;
}

/** `--data` on the command line is for this server alone, and comes before an address for all. */
export function readDatabase(
  flags: Pick<ServeFlags, "data" | "database">,
  env: Environment,
): string | undefined {
  const isFolder = flags.data !== undefined && flags.database === undefined;
  const given = flags.database ?? (isFolder ? undefined : env["DATABASE_URL"] || undefined);
  if (given === undefined) return undefined;
  const name = flags.database === undefined ? "DATABASE_URL" : "--database";
  if (isDatabaseUrl(given)) return given;
  throw new StartError(
    `${name} must be the address of a Postgres database, as in postgres://user@host/database.`,
  );
}

function readHostId(hostId = ""): Pick<ServeSettings, "hostId"> {
  if (hostId === "") return {};
  if (/^[\x21-\x7e]{1,255}$/.test(hostId)) return { hostId };
  throw new StartError("CONVOKE_HOST_ID must be 1 to 255 printable ASCII characters.");
}

/** The settings of the configuration that are about the server. */
export type ServerConfig = Omit<ConvokeConfig, "coder" | "agents">;

function withoutAuth(config: ServerConfig): ServerConfig {
  const { auth: _, authenticate: _own, securitySchemes: _all, security: _some, ...rest } = config;
  return rest;
}

function readIdempotency(value: string): ServeSettings["idempotency"] {
  if (value === "extension" || value === "always") return value;
  throw new StartError(
    `CONVOKE_IDEMPOTENCY must be extension or always, not ${JSON.stringify(value)}.`,
  );
}

/** The ways to authenticate that the environment sets. They replace those of the configuration. */
function readAuth(env: Environment, database: string | undefined): readonly Authenticator[] {
  const token = env["CONVOKE_TOKEN"] || undefined;
  const keys = readApiKeys(env["CONVOKE_API_KEYS"] || undefined, database);
  const issuer = env["CONVOKE_JWT_ISSUER"] || undefined;
  const audience = env["CONVOKE_JWT_AUDIENCE"] || undefined;
  if ((issuer === undefined) !== (audience === undefined)) {
    throw new StartError(
      "CONVOKE_JWT_ISSUER and CONVOKE_JWT_AUDIENCE belong together: set both, or none.",
    );
  }
  const ways: Authenticator[] = [...keys];
  if (issuer !== undefined && audience !== undefined) {
    validated("CONVOKE_JWT_ISSUER", () => ways.push(oidc({ issuer, audience })));
  }
  if (token !== undefined) ways.push(bearer(token));
  return ways;
}

/** Reads the path of a file with API keys, or "database". */
function readApiKeys(
  value: string | undefined,
  database: string | undefined,
): readonly Authenticator[] {
  if (value === undefined) return [];
  if (value !== "database") {
    validated("CONVOKE_API_KEYS", () => readKeyFile(value));
    return [apiKeys({ file: value })];
  }
  if (database !== undefined) return [apiKeys()];
  throw new StartError(
    "CONVOKE_API_KEYS=database needs a database: give its address with --database or DATABASE_URL. A file of that name is ./database.",
  );
}

function readSwitch(name: string, value: string | undefined): boolean {
  if (value === undefined || value === "" || value === "0") return false;
  if (value === "1") return true;
  throw new StartError(`${name} must be 1 or 0, not ${JSON.stringify(value)}.`);
}

function readPort(name: string, value: string): number {
  const port = Number(value);
  if (/^\d+$/.test(value) && port <= 65_535) return port;
  throw new StartError(`${name} must be a number from 0 to 65535, not ${JSON.stringify(value)}.`);
}

function readDuration(value: string): number {
  if (/^\d{1,9}$/.test(value)) return Number(value);
  throw new StartError(
    `CONVOKE_DRAIN_MS must be a number of milliseconds, not ${JSON.stringify(value)}.`,
  );
}

function readUrl(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) return new URL(value).href;
  throw new StartError(
    `PUBLIC_URL must be an http or https address, not ${JSON.stringify(value)}.`,
  );
}

const LEVELS = ["debug", "info", "warn", "error", "silent"] as const satisfies readonly LogLevel[];

export function readLevel(value = "warn"): LogLevel {
  const level = LEVELS.find((name) => name === value);
  if (level !== undefined) return level;
  throw new StartError(
    `CONVOKE_LOG must be one of ${LEVELS.join(", ")}, not ${JSON.stringify(value)}.`,
  );
}

function readLogFormat(value: string): LogFormat {
  if (value === "auto" || value === "pretty" || value === "json") return value;
  throw new StartError(
    `CONVOKE_LOG_FORMAT must be one of auto, pretty, json, not ${JSON.stringify(value)}.`,
  );
}

/** A `Host` header has no scheme and no path, so an entry with one could never match. */
function readHost(entry: string): string {
  if (!/[/@?#\s]/.test(entry)) return entry;
  const { host = "" } = URL.canParse(entry) ? new URL(entry) : {};
  const fix = host === "" ? "agent.example or agent.example:8080" : host;
  throw new StartError(
    `CONVOKE_ALLOWED_HOSTS lists host names without a scheme or path: write ${fix} instead of ${JSON.stringify(entry)}.`,
  );
}

/**
 * Reads the variables in the file `.env` of the current folder, if there is one, for the settings and
 * for the agent. Variables that are already set keep their values.
 */
export function loadEnvFile(): void {
  try {
    process.loadEnvFile(".env");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT") throw new StartError(`.env cannot be read (${code}).`, { cause: error });
  }
}

/** The web pages that may call the server. */
function readCors(value: string | undefined): CorsOptions {
  try {
    return { origins: normalizeOrigins(commaList(value)) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const problem = error.message.replace(" (cors.origins)", "");
    throw new StartError(`CONVOKE_CORS_ORIGINS: ${problem}.`, { cause: error });
  }
}

/** Reads `parts=10,openTasks=5`. Limits that are not named keep their defaults. */
function readLimits(value: string | undefined): Partial<Limits> {
  return Object.fromEntries(commaList(value).map(readLimit));
}

const NAMES = Object.keys(DEFAULT_LIMITS);

function readLimit(entry: string): readonly [name: string, most: number] {
  const [name = "", ...rest] = entry.split("=").map((word) => word.trim());
  if (!NAMES.includes(name)) {
    const guess = didYouMean(name, NAMES);
    throw new StartError(
      `CONVOKE_LIMITS has no limit ${JSON.stringify(name)}.${guess} The limits are ${NAMES.join(", ")}.`,
    );
  }
  const most = countOf(rest.join("="));
  if (most !== undefined) return [name, most];
  throw new StartError(
    `CONVOKE_LIMITS must set ${name} to a whole number above 0, as in ${name}=10, not ${JSON.stringify(entry)}. ` +
      `The limits are ${NAMES.join(", ")}.`,
  );
}

/** Reads `write=100/min,read=20/s`, or `off`. */
function readRateLimits(value: string | undefined): RateLimitOptions | false {
  try {
    return parseRateLimits(value ?? "");
  } catch (error) {
    const problem = (error as TypeError).message;
    throw new StartError(`CONVOKE_RATE_LIMIT: ${problem}.`, { cause: error });
  }
}

/** Push options. They are validated now, not when the first notification is sent. */
function readPush(env: Readonly<Record<string, string | undefined>>): PushOptions {
  const allow = commaList(env["CONVOKE_PUSH_ALLOW"]);
  const secret = env["CONVOKE_PUSH_SECRET"] || undefined;
  validated("CONVOKE_PUSH_ALLOW", () => createEgress({ allow }));
  if (secret === undefined) return { allow };
  validated("CONVOKE_PUSH_SECRET", () => signDelivery({ secret, id: "", timestamp: 0, body: "" }));
  return { allow, secret };
}

/** Validates a setting by using it, and names it in the error. */
function validated(name: string, use: () => unknown): void {
  try {
    use();
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof KeyFileError)) throw error;
    const problem = error.message.replace(/^(?:egress|oidc): /, "");
    throw new StartError(`${name} cannot be used: ${problem}.`, { cause: error });
  }
}

/** The entries of a comma-separated list, without empty ones. */
function commaList(value: string | undefined): readonly string[] {
  return (value ?? "")
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

const DAY_MS = 24 * 60 * 60_000;

/** The retention of finished tasks. Unset values get defaults that depend on the storage. */
function readRetention(
  env: Readonly<Record<string, string | undefined>>,
): Partial<RetentionOptions> {
  const days = readCount("CONVOKE_KEEP_DAYS", env["CONVOKE_KEEP_DAYS"]);
  const maxTasks = readCount("CONVOKE_KEEP_TASKS", env["CONVOKE_KEEP_TASKS"]);
  return {
    ...(days !== undefined && { maxAgeMs: days * DAY_MS }),
    ...(maxTasks !== undefined && { maxTasks }),
  };
}

/** The number in a setting, or `undefined` if it is not set. */
function readCount(name: string, value: string | undefined): number | undefined {
  if (value === undefined || value === "") return undefined;
  const count = countOf(value);
  if (count !== undefined) return count;
  throw new StartError(`${name} must be a whole number above 0, not ${JSON.stringify(value)}.`);
}

/** A whole number above 0, or `undefined` for anything else. */
function countOf(value: string): number | undefined {
  const count = Number(value);
  return /^\d+$/.test(value) && count > 0 && Number.isSafeInteger(count) ? count : undefined;
}

/** How the card looks, and the key that signs it, if one is set. */
export function readCard(env: Readonly<Record<string, string | undefined>>): CardOptions {
  const file = env["CONVOKE_CARD_KEY"] || undefined;
  const form = env["CONVOKE_CARD_FORM"] || undefined;
  const grpcUrl = env["CONVOKE_GRPC_URL"] || undefined;
  const bindings = commaList(env["CONVOKE_CARD_BINDINGS"]);
  const { provider, documentationUrl } = readA2AEnvironment(env);
  return {
    ...(provider && { provider }),
    ...(documentationUrl !== undefined && { documentationUrl }),
    ...(form !== undefined && { form: oneOf("CONVOKE_CARD_FORM", form, FORMS) }),
    ...(bindings.length > 0 && {
      bindings: bindings.map((one) => oneOf("CONVOKE_CARD_BINDINGS", one, BINDINGS)),
    }),
    ...(grpcUrl !== undefined && { grpcUrl }),
    ...(file !== undefined && { keys: [readKey(file)] }),
  };
}

const FORMS = ["negotiated", "hybrid", "v1", "v03"] as const;

const BINDINGS = ["JSONRPC", "HTTP+JSON", "GRPC"] as const;

function oneOf<const T extends string>(name: string, value: string, values: readonly T[]): T {
  const known = values.find((one) => one.toLowerCase() === value.toLowerCase());
  if (known !== undefined) return known;
  throw new StartError(`${name}: ${JSON.stringify(value)} is not one of ${values.join(", ")}.`);
}

/** Fields of the card for authenticated callers, from a JSON file. */
function readExtendedCard(file: string | undefined): Pick<ServeSettings, "extendedCard"> {
  if (!file) return {};
  let fields: unknown;
  try {
    fields = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    const why = error instanceof SyntaxError ? "is not JSON" : "cannot be read";
    throw new StartError(`CONVOKE_EXTENDED_CARD: ${file} ${why}.`, { cause: error });
  }
  if (isObject(fields)) return { extendedCard: () => fields as Partial<AgentInfo> };
  throw new StartError(
    `CONVOKE_EXTENDED_CARD: ${file} must be an object with fields such as description and skills.`,
  );
}

function readKey(file: string): CardKey {
  const fix = "make one with: convoke keys card";
  let key: Partial<CardKey>;
  try {
    key = JSON.parse(readFileSync(file, "utf8")) as Partial<CardKey>;
  } catch (error) {
    const why = error instanceof SyntaxError ? "is not JSON" : "cannot be read";
    throw new StartError(`CONVOKE_CARD_KEY: ${file} ${why}; ${fix}.`, { cause: error });
  }
  const { kid, alg, privateKey } = key;
  if (typeof kid === "string" && alg !== undefined && typeof privateKey === "object") {
    return { kid, alg, privateKey };
  }
  throw new StartError(`CONVOKE_CARD_KEY: ${file} has no kid, alg and privateKey; ${fix}.`);
}
