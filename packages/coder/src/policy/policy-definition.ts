import { didYouMean, isObject } from "@convoke/protocol/internal";
import { MODES, type Mode, VERDICTS, type Verdict, stricterMode } from "./verdict.ts";

/** The rights of a coding agent, as its operator writes them. */
export interface PolicyDefinition {
  /** The mode in which conversations start. Default `ask`. */
  readonly mode?: Mode;
  /**
   * The most lenient mode that a caller may switch to. Default: the `mode`, so that a caller can
   * only make it stricter.
   */
  readonly maxMode?: Mode;
  /** Exceptions from the defaults of the mode. If several match, the strictest counts. */
  readonly rules?: readonly PolicyRule[];
  /** Whether commands in the sandbox may use the network. Default false. */
  readonly network?: boolean;
  /**
   * What `.convoke/policy.json` of the workspace may do: nothing (`ignore`), only make the policy
   * stricter (`restrict`), or also allow more (`trust`, for workspaces whose authors you trust).
   * Default `restrict`.
   */
  readonly workspacePolicy?: "ignore" | "restrict" | "trust";
}

/** Applies to calls that match everything it has. */
export interface PolicyRule {
  readonly verdict: Verdict;
  /** The name of a tool; `*` stands for any characters. */
  readonly tool?: string;
  /**
   * The first words of a command, such as `npm run *`. For `allow`, the command must start with
   * exactly these words. For `ask` and `deny` other words may be between them, so that `git push`
   * also matches `git -C . push`.
   */
  readonly command?: string;
  /**
   * A path, relative to the workspace or absolute. `*` stands for any characters except `/`, `**`
   * for any folders.
   */
  readonly path?: string;
  /** Why, for the person who is asked. */
  readonly reason?: string;
}

/** A policy with its defaults. */
export type CompletePolicy = Required<PolicyDefinition>;

const NAMES = ["maxMode", "mode", "network", "rules", "workspacePolicy"] as const;

const RULE_NAMES = ["command", "path", "reason", "tool", "verdict"] as const;

/**
 * Checks a policy and adds the defaults. `source` is where it was written, for errors, such as
 * "coder.policy in convoke.config.ts".
 */
export function parsePolicy(given: unknown, source: string): CompletePolicy {
  const place = new Place(source);
  const policy = place.object(given, NAMES);
  const mode = place.oneOf(policy, "mode", MODES) ?? "ask";
  const { rules = [] } = policy;
  if (!Array.isArray(rules)) throw place.problem("rules", "must be a list of rules");
  return {
    mode,
    maxMode: place.oneOf(policy, "maxMode", MODES) ?? mode,
    rules: rules.map((rule, at) => parseRule(rule, new Place(`rules[${at}] of ${source}`))),
    network: place.boolean(policy, "network") ?? false,
    workspacePolicy:
      place.oneOf(policy, "workspacePolicy", ["ignore", "restrict", "trust"] as const) ??
      "restrict",
  };
}

function parseRule(given: unknown, place: Place): PolicyRule {
  const rule = place.object(given, RULE_NAMES);
  const verdict = place.oneOf(rule, "verdict", VERDICTS);
  if (verdict === undefined) throw place.problem("verdict", `is required: ${VERDICTS.join(", ")}`);
  const [tool, command, path, reason] = (["tool", "command", "path", "reason"] as const).map(
    (name) => place.text(rule, name),
  );
  if ((tool ?? command ?? path) === undefined) {
    throw place.problem(
      "tool",
      "or command or path is required, so that the rule matches something",
    );
  }
  if (command !== undefined && path !== undefined) {
    throw place.problem("path", "cannot be combined with command; write two rules");
  }
  return {
    verdict,
    ...(tool !== undefined && { tool }),
    ...(command !== undefined && { command }),
    ...(path !== undefined && { path }),
    ...(reason !== undefined && { reason }),
  };
}

/** Where a value was written; its errors name the field and the fix. */
class Place {
  readonly #source: string;

  constructor(source: string) {
    this.#source = source;
  }

  problem(name: string, what: string): TypeError {
    return new TypeError(`${name} in ${this.#source} ${what}`);
  }

  object(given: unknown, names: readonly string[]): Readonly<Record<string, unknown>> {
    if (!isObject(given)) throw new TypeError(`${this.#source} must be an object`);
    const unknown = Object.keys(given).find((name) => !names.includes(name));
    if (unknown === undefined) return given;
    const guess = didYouMean(unknown, names) || ` The fields are ${names.join(", ")}.`;
    throw new TypeError(`${this.#source} has no field ${JSON.stringify(unknown)}.${guess}`);
  }

  oneOf<const T extends string>(
    object: Readonly<Record<string, unknown>>,
    name: string,
    values: readonly T[],
  ): T | undefined {
    const value = object[name];
    const found = values.find((one) => one === value);
    if (value === undefined || found !== undefined) return found;
    throw this.problem(name, `must be one of ${values.join(", ")}, not ${JSON.stringify(value)}`);
  }

  boolean(object: Readonly<Record<string, unknown>>, name: string): boolean | undefined {
    const value = object[name];
    if (value === undefined || typeof value === "boolean") return value;
    throw this.problem(name, `must be true or false, not ${JSON.stringify(value)}`);
  }

  text(object: Readonly<Record<string, unknown>>, name: string): string | undefined {
    const value = object[name];
    if (value === undefined) return undefined;
    if (typeof value === "string" && value.trim() !== "") return value;
    throw this.problem(name, `must be a text that is not empty, not ${JSON.stringify(value)}`);
  }
}

/**
 * The server's policy together with that of a workspace. Without trust, the workspace only adds
 * restrictions: its `allow` rules and more lenient settings are ignored.
 */
export function withWorkspacePolicy(
  server: CompletePolicy,
  workspace: CompletePolicy | undefined,
): CompletePolicy {
  if (workspace === undefined || server.workspacePolicy === "ignore") return server;
  const isTrusted = server.workspacePolicy === "trust";
  const rules = isTrusted
    ? workspace.rules
    : workspace.rules.filter(({ verdict }) => verdict !== "allow");
  return {
    ...server,
    // Even a trusted workspace stays below the limit for callers.
    mode: stricterMode(workspace.mode, isTrusted ? server.maxMode : server.mode),
    maxMode: isTrusted ? server.maxMode : stricterMode(workspace.maxMode, server.maxMode),
    rules: [...server.rules, ...rules],
    network: isTrusted ? workspace.network : server.network && workspace.network,
  };
}
