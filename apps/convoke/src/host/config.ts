import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { CoderOptions } from "@convoke/coder";
import type { AgentEntry } from "@convoke/host";
import { type RemoteEntries, type RemoteEntry, resolveRemoteEntries } from "@convoke/server";
import type { ServeAgentOptions } from "./serve-agent.ts";
import { didYouMean, isObject } from "@convoke/protocol/internal";
import { removedConfig } from "../terminal/removed.ts";

/** The server cannot start. The message is one sentence that says what to do. */
export class StartError extends Error {
  override readonly name = "StartError";
  /** Whether the next start may succeed although nobody changes anything. */
  readonly mayPass: boolean;

  constructor(message: string, options: ErrorOptions & { readonly mayPass?: boolean } = {}) {
    const { mayPass = false, ...rest } = options;
    super(message, rest);
    this.mayPass = mayPass;
  }
}

/**
 * The settings of a server that are code: `convoke serve` reads them from `convoke.config.ts`. For
 * what both have, the environment takes precedence over it, and flags over the environment.
 */
export interface ConvokeConfig extends Pick<ServeAgentOptions, (typeof SERVER_OPTIONS)[number]> {
  /**
   * The agents to serve by their ids, in addition to the files on the command line. Paths are
   * relative to the current folder. An agent at a URL is not served here, but listed with the others
   * in `/.well-known/agents.json`.
   */
  readonly agents?: Readonly<Record<string, AgentEntry | RemoteEntry>>;
  /** The coding agent of `convoke code`, whose flags take precedence. */
  readonly coder?: Partial<CoderOptions>;
}

const SERVER_OPTIONS = [
  "agentApi",
  "allowAnonymous",
  "auth",
  "authenticate",
  "authorize",
  "default",
  "files",
  "limits",
  "retention",
  "roles",
  "scopes",
  "security",
  "securitySchemes",
  "tenants",
  "tls",
  "tracing",
] as const;

const OPTIONS = [...SERVER_OPTIONS, "agents", "coder"] as const;

/**
 * Types the settings of a server.
 *
 * @example
 * // convoke.config.ts
 * import { apiKeys, defineConfig } from "convoke";
 *
 * export default defineConfig({
 *   auth: [apiKeys({ file: "api-keys.json" })],
 *   agents: {
 *     poet: { description: "Writes poems.", model: "anthropic:claude-sonnet-4-5" },
 *     greeter: "./greeter.ts",
 *   },
 * });
 */
export function defineConfig(config: ConvokeConfig): ConvokeConfig {
  return config;
}

const CONFIG_FILES = ["ts", "mts", "js", "mjs"].map((end) => `convoke.config.${end}`);

/** The configuration file of the current folder, if there is one. */
export function findConfig(): string | undefined {
  return CONFIG_FILES.find((name) => existsSync(name));
}

/** The configuration in a file, by default `convoke.config.ts` in the current folder if there is one. */
export async function loadConfig(named: string | undefined): Promise<ConvokeConfig> {
  const file = named ?? findConfig();
  if (file === undefined) return {};
  const path = resolve(file);
  if (!existsSync(path)) throw new StartError(`There is no file ${file}.`);
  let loaded: { readonly default?: unknown };
  try {
    loaded = (await import(pathToFileURL(path).href)) as typeof loaded;
  } catch (error) {
    const told = error instanceof Error ? error.message : String(error);
    throw new StartError(`${file} could not be loaded. The error is: ${told}`, { cause: error });
  }
  const config = loaded.default;
  if (!isObject(config)) {
    throw new StartError(`${file} must export its settings: export default defineConfig({ … })`);
  }
  const unknown = Object.keys(config).find((name) => !OPTIONS.some((one) => one === name));
  const { agents = {} } = config;
  if (!isObject(agents)) {
    throw new StartError(`${file}: agents must be an object, as in agents: { poet: "./poet.ts" }.`);
  }
  if (unknown === undefined) return config as ConvokeConfig;
  const removed = removedConfig(unknown);
  if (removed !== undefined) throw new StartError(`${file}: ${removed}`);
  throw new StartError(
    `${file} has no setting ${JSON.stringify(unknown)}.${didYouMean(unknown, OPTIONS)} The settings are ${OPTIONS.join(", ")}.`,
  );
}

/** The agents of a configuration: those that a server runs, and those that it only lists. */
interface ConfiguredAgents {
  /** Absent if the configuration has none. */
  readonly served?: Readonly<Record<string, AgentEntry>>;
  readonly remote: RemoteEntries;
}

/** Separates the agents at URLs from those to serve. Throws if an address cannot be listed. */
export function configuredAgents({ agents }: Pick<ConvokeConfig, "agents">): ConfiguredAgents {
  if (agents === undefined) return { remote: {} };
  const all = Object.entries(agents);
  const remote = Object.fromEntries(all.filter(isRemote));
  const served = all.filter((one): one is [string, AgentEntry] => !isRemote(one));
  try {
    resolveRemoteEntries(remote, "agents");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new StartError(`${error.message}.`, { cause: error });
  }
  const isOnlyListed = all.length > 0 && served.length === 0;
  return isOnlyListed ? { remote } : { served: Object.fromEntries(served), remote };
}

function isRemote(given: [id: string, entry: unknown]): given is [string, string | RemoteEntry] {
  const [, entry] = given;
  if (typeof entry === "string") return /^https?:\/\//i.test(entry);
  // What `connect` returns has a URL, too, and is an agent to serve.
  return isObject(entry) && "url" in entry && typeof entry["run"] !== "function";
}
