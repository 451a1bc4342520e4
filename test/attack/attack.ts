import type { Target } from "./target.ts";

/** How much a flood sends. The short form runs with every test run. */
export interface Scale {
  /** Connections that are open at the same time. */
  readonly connections: number;
  /** Frames of a flood over HTTP/2. */
  readonly frames: number;
}

/** One attack on a running server, of which only the target is known. */
export interface Attack {
  readonly id: string;
  /** What the attacker tries, as a sentence whose opposite is the defence. */
  readonly sentence: string;
  /** Returns if the target holds; otherwise throws `Fell` or `NotApplicable`. */
  readonly run: (target: Target, scale: Scale) => Promise<void>;
}

/** Attacks of one kind. */
export interface AttackFamily {
  readonly title: string;
  /** Uses up the rate limits of the target, so that nothing else can be tried on it afterwards. */
  readonly isExhausting?: true;
  readonly attacks: readonly Attack[];
}

/** The attack succeeded. The message says what happened. */
export class Fell extends Error {
  override readonly name = "Fell";
}

/** The target lacks what is attacked. The message names it. */
export class NotApplicable extends Error {
  override readonly name = "NotApplicable";
}

/** Reports a success of the attacker, if there was one. */
export function fellIf(condition: boolean, reason: string): void {
  if (condition) throw new Fell(reason);
}

/** A part of the target that an attack needs. */
export function needed<Part>(part: Part | undefined, name: string): Part {
  if (part === undefined) throw new NotApplicable(name);
  return part;
}

/** The short form, or what the environment asks for. */
export function scaleOf(env: NodeJS.ProcessEnv): Scale {
  return {
    connections: Number(env["CONVOKE_ATTACK_CONNECTIONS"] ?? 200),
    frames: Number(env["CONVOKE_ATTACK_FRAMES"] ?? 2000),
  };
}
