import type { ConnectOptions, RemoteAgent } from "@convoke/client";
import type { Agent } from "@convoke/protocol";
import { MAX_TIMER_MS, isObject } from "@convoke/protocol/internal";
import type { ConfirmRule, Tool } from "../tools/tool.ts";

/** The validated settings of one sub-agent, with all defaults filled in. */
export interface SubAgentSettings {
  readonly name: string;
  readonly target: SubAgentTarget;
  readonly description: string | undefined;
  readonly confirm: ConfirmRule;
  readonly timeoutMs: number;
  readonly retryForMs: number;
}

type SubAgentTarget =
  | { readonly kind: "url"; readonly url: string; readonly options: ConnectOptions }
  | { readonly kind: "remote"; readonly remote: RemoteAgent }
  | { readonly kind: "local"; readonly agent: Agent };

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * Validates the definitions of an agent's sub-agents. Throws immediately for a mistake of the
 * author.
 */
export function subAgentSettings(
  definitions: SubAgentsDefinition,
  tools: readonly Tool[],
): readonly SubAgentSettings[] {
  if (!isObject(definitions)) {
    throw new TypeError('subAgents must be an object of agents: { planner: "https://…" }');
  }
  return Object.entries(definitions).map(([name, definition]) => {
    const field = `subAgents.${name}`;
    if (!NAME.test(name)) {
      throw new TypeError(
        `the name of a sub-agent is that of its tool, and has 1 to 64 letters, digits, "_" and "-": ` +
          `${JSON.stringify(name)} does not fit`,
      );
    }
    if (tools.some((tool) => tool.name === name)) {
      throw new TypeError(`${field} has the name of a tool: give one of them another name`);
    }
    return settingsOf(name, field, definition);
  });
}

const RULES = ["description", "confirm", "timeoutMs", "retryForMs"];
const HERE_FIELDS: ReadonlySet<string> = new Set([...RULES, "agent", "url"]);
const URL_FIELDS: ReadonlySet<string> = new Set([
  ...HERE_FIELDS,
  "allow",
  "allowDowngrade",
  "auth",
  "bindings",
  "fetch",
  "jkuOrigins",
  "signatures",
  "tenant",
  "token",
  "trustedKeys",
  "version",
]);
const RETRY_FOR_MS = 5000;
/** An agent of this process is unavailable only while its storage is, and then every task has to wait. */
const RETRY_HERE_FOR_MS = 300_000;
const DEFAULT_TIMEOUT_MS = 600_000;

function settingsOf(name: string, field: string, definition: SubAgentDefinition): SubAgentSettings {
  const given = typeof definition === "string" ? { url: definition } : definition;
  if (isAgent(given)) return settingsOf(name, field, { agent: given });
  if (!isObject(given)) {
    throw new TypeError(`${field} must be an address, an agent, { url: "…" } or { agent }`);
  }
  const detailed = given as SubAgentAtUrl | SubAgentHere;
  const { url, agent, description, confirm = "never" } = detailed;
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = detailed;
  const { retryForMs = url === undefined ? RETRY_HERE_FOR_MS : RETRY_FOR_MS } = detailed;
  if ((url === undefined) === (agent === undefined)) {
    throw new TypeError(`${field} needs either a url or an agent`);
  }
  // A mistyped "confirm" must not leave a call unguarded.
  const known = url === undefined ? HERE_FIELDS : URL_FIELDS;
  const unknown = Object.keys(given).find((key) => !known.has(key));
  if (unknown !== undefined) {
    const kind = url === undefined ? "an agent of this process" : "a url";
    throw new TypeError(`${field}.${unknown} is no setting of a sub-agent with ${kind}; remove it`);
  }
  if (description !== undefined && (typeof description !== "string" || description.trim() === "")) {
    throw new TypeError(`${field}.description must be a text: the model chooses by it`);
  }
  if (confirm !== "never" && confirm !== "ask" && typeof confirm !== "function") {
    throw new TypeError(`${field}.confirm must be "never", "ask" or a function`);
  }
  // Node fires longer timers immediately, so a larger value would mean no wait at all.
  if (!Number.isFinite(timeoutMs) || timeoutMs <= 0 || timeoutMs > MAX_TIMER_MS) {
    throw new TypeError(`${field}.timeoutMs must be above 0, not ${String(timeoutMs)}`);
  }
  if (!Number.isFinite(retryForMs) || retryForMs < 0) {
    throw new TypeError(`${field}.retryForMs must be 0 or more, not ${String(retryForMs)}`);
  }
  const target = targetOf(field, detailed);
  return { name, target, description, confirm, timeoutMs, retryForMs };
}

function targetOf(field: string, given: SubAgentAtUrl | SubAgentHere): SubAgentTarget {
  if (given.agent !== undefined) {
    const { agent } = given;
    if (!isAgent(agent)) throw new TypeError(`${field}.agent must be what defineAgent makes`);
    return isRemote(agent) ? { kind: "remote", remote: agent } : { kind: "local", agent };
  }
  const { url, agent: _a, description: _d, confirm: _c, timeoutMs: _t, ...rest } = given;
  const { retryForMs: _p, ...options } = rest;
  const parsed = typeof url === "string" ? URL.parse(url) : null;
  if (parsed === null || (parsed.protocol !== "http:" && parsed.protocol !== "https:")) {
    throw new TypeError(`${field}.url must be an http or https address`);
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new TypeError(`${field}.url must not hold a password; give it as token or auth`);
  }
  return { kind: "url", url, options };
}

function isAgent(value: unknown): value is Agent {
  const { run, info } = (value ?? {}) as Partial<Agent>;
  return typeof run === "function" && typeof info === "object";
}

/** Recognized by its methods: the class is not loaded before the first connection. */
function isRemote(agent: Agent | RemoteAgent): agent is RemoteAgent {
  const { subscribe, cancel } = agent as Partial<RemoteAgent>;
  return typeof subscribe === "function" && typeof cancel === "function";
}

/**
 * Another agent that an agent may call: a URL, an agent of this process, or an object with options.
 */
export type SubAgentDefinition = string | Agent | RemoteAgent | SubAgentAtUrl | SubAgentHere;

/** The sub-agents of an agent, keyed by tool name. */
export type SubAgentsDefinition = Readonly<Record<string, SubAgentDefinition>>;

interface SubAgentRules {
  /** The description for the model. Default: the one on the agent's card. */
  readonly description?: string;
  /**
   * Whether a call needs approval. Default "never", because the sub-agent asks for approvals
   * itself.
   */
  readonly confirm?: ConfirmRule;
  /** How long the agent may work without asking a question. Default: 10 minutes. */
  readonly timeoutMs?: number;
  /**
   * How long a call waits for an agent that is unreachable, for example while it restarts. Default:
   * 5 seconds, and 5 minutes for an agent of this process, whose storage may be unavailable.
   */
  readonly retryForMs?: number;
}

/** The connection options for a remote agent; see `connect`. */
type Reaching = Pick<
  ConnectOptions,
  | "allow"
  | "allowDowngrade"
  | "auth"
  | "bindings"
  | "fetch"
  | "jkuOrigins"
  | "signatures"
  | "tenant"
  | "token"
  | "trustedKeys"
  | "version"
>;

/** A remote agent. */
export interface SubAgentAtUrl extends SubAgentRules, Reaching {
  readonly url: string;
  readonly agent?: undefined;
}

/** An agent of this process, or one that is already connected. */
export interface SubAgentHere extends SubAgentRules {
  readonly agent: Agent | RemoteAgent;
  readonly url?: undefined;
}
