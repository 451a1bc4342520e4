import { isObject } from "../internal/json.ts";
import { invalidParams } from "../model/errors.ts";
import { compileCheck } from "../schema/compile-schema.ts";
import { type Schema, id } from "../schema/schema.ts";

/** What `POST /a2a/tasks/send` asks for. */
export interface A2ATaskParams {
  readonly message: string;
  /** The id of a skill. It selects the agent, if several are served. */
  readonly skill?: string;
  /** The id or the name of the agent. Default: the one with the skill, or the first. */
  readonly agent?: string;
  /** Time limit of the task in milliseconds; default five minutes. */
  readonly timeoutMs?: number;
  /** The position of this call in a chain of agents; 1 for the first. */
  readonly depth?: number;
  /** The caller's name according to itself: useful for logs, not a proof of identity. */
  readonly sourceAgent?: string;
}

/** The body of `POST /a2a/tasks/send`: the parameters, alone or in `params`. */
export type A2ATaskSendRequest =
  | A2ATaskParams
  | { readonly method?: "tasks/send"; readonly params: A2ATaskParams };

/** The time limit of an inbound task that sets none, in milliseconds. */
export const INBOUND_TIMEOUT_MS = 5 * 60_000;

/** A call at this position of a chain of agents, or further down, is rejected. */
export const MAX_INBOUND_DEPTH = 3;

const PARAMS: Schema = {
  type: "object",
  required: ["message"],
  properties: {
    message: { type: "string" },
    skill: id,
    agent: id,
    timeoutMs: { type: "number", minimum: 1 },
    depth: { type: "integer", minimum: 1, maximum: 10 },
    sourceAgent: id,
  },
};

const checkParams = compileCheck(PARAMS);

/**
 * Reads the body of an inbound task. Throws an `A2AError` that names an invalid field, also for a
 * chain of agents that is too long.
 */
export function readTaskRequest(body: unknown): A2ATaskParams {
  if (!isObject(body)) throw invalidParams("body", "must be a JSON object");
  const { method = "tasks/send", params = body } = body;
  if (method !== "tasks/send") throw invalidParams("method", "must be tasks/send");
  checkParams(params, "params");
  const { message, skill, agent, timeoutMs, depth, sourceAgent } = params as A2ATaskParams;
  if (message.trim() === "") throw invalidParams("message", "must not be blank");
  if (depth !== undefined && depth >= MAX_INBOUND_DEPTH) {
    const limit = `calls from a depth of ${MAX_INBOUND_DEPTH} on are rejected`;
    throw invalidParams("depth", `is ${depth}: this chain of agents is too long, ${limit}`);
  }
  return {
    message,
    ...(skill !== undefined && { skill }),
    ...(agent !== undefined && { agent }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(depth !== undefined && { depth }),
    ...(sourceAgent !== undefined && { sourceAgent }),
  };
}

/** An agent that may receive inbound tasks. */
export interface InboundAgent {
  readonly id: string;
  readonly name: string;
  /** The ids of its skills. */
  readonly skills: readonly string[];
}

/**
 * The agent for a request: the one that it names, else the first that has the requested skill, else
 * the first. Returns `undefined` if it names an unknown one, or there are none.
 *
 * @param agents in declared order
 */
export function chooseAgent<Candidate extends InboundAgent>(
  agents: readonly Candidate[],
  { agent, skill }: Pick<A2ATaskParams, "agent" | "skill">,
): Candidate | undefined {
  if (agent !== undefined) {
    return agents.find((one) => one.id === agent) ?? agents.find((one) => one.name === agent);
  }
  const skilled =
    skill === undefined ? undefined : agents.find((one) => one.skills.includes(skill));
  return skilled ?? agents[0];
}
