import Type, { type Static } from "typebox";
import {
  type AgentTrust,
  type Clock,
  type InvocationBudget,
  type InvocationBudgetOptions,
  type InvocationRefusal,
  type InvokeOptions,
  MAX_DEPTH,
  REFUSED,
  TRUST_LEVELS,
  type TrustLevel,
  ValidationError,
  createInvocationBudget,
  discoverAgent,
  invokeRemoteAgent,
} from "@convoke/client/compat";
import { type Metadata, readA2AEnvironment } from "@convoke/protocol";
import { REMOTE_NOTICE as NOTICE } from "../tools/tool-output.ts";
import { type Tool, type ToolContext, type ToolEvent, tool } from "../tools/tool.ts";

/** The session in which a model calls other agents. */
export interface A2AToolContext {
  /** Who opened the session. One that another agent opened may not call agents. Default "user". */
  readonly source?: "user" | "agent";
  /** How many calls the session may still make. Default: a new budget for each call. */
  readonly budget?: InvocationBudget;
  /** The position of a call in a chain of agents. Default 1. */
  readonly depth?: number;
  /** How much an agent is trusted. Default: every agent counts as "low". */
  readonly trust?: AgentTrust;
  /** Non-public destinations that the model may name: `host`, `host:port`, an address or a range. */
  readonly allow?: readonly string[];
  /** Credentials. They must name the origin that they are for, because the model chooses the URL. */
  readonly auth?: InvokeOptions["auth"];
  /** The name of the calling agent, for the log of the called one. */
  readonly sourceAgent?: string;
  /** Called with the reason if a call is refused. The model does not learn it. */
  readonly onRefusal?: (refusal: InvocationRefusal) => void;
  /** Called with progress messages for people. */
  readonly emitStatus?: (text: string) => void;
  readonly signal?: AbortSignal;
  /** For tests. Default: the system clock. */
  readonly clock?: Clock;
}

/** The result of a tool, as MCP has it. */
export interface A2AToolResult {
  readonly content: readonly { readonly type: "text"; readonly text: string }[];
  readonly isError?: true;
}

/** Reads the card of another agent for a model. */
export async function handleDiscoverAgent(
  context: A2AToolContext,
  args: DiscoverArguments,
): Promise<A2AToolResult> {
  return toResult(await discover(context, args));
}

/** Sends a message to another agent for a model, and waits for the answer. */
export async function handleInvokeRemoteAgent(
  context: A2AToolContext,
  args: InvokeArguments,
): Promise<A2AToolResult> {
  return toResult(await invoke(context, args));
}

/** How the tools of an agent call other agents. */
export interface AgentToolOptions extends Omit<
  A2AToolContext,
  "source" | "budget" | "depth" | "emitStatus" | "signal"
> {
  /**
   * What one conversation may use. Default: MAX_REMOTE_INVOCATIONS_PER_SESSION (10),
   * MAX_UNIQUE_AGENTS_PER_SESSION (3) and A2A_INVOCATION_COOLDOWN_MS (5000).
   */
  readonly budget?: InvocationBudgetOptions;
}

/**
 * Tools with which a model finds and calls other agents: `discover_agent` and `invoke_remote_agent`.
 * Work that another agent asked for does not get them.
 *
 * @example
 * defineAgent({ name, description, model, tools: agentTools({ allow: ["10.0.0.5:3000"] }) });
 */
export function agentTools(options: AgentToolOptions = {}): readonly Tool[] {
  const { budget, ...shared } = options;
  const { invocations } = readA2AEnvironment(process.env);
  const budgets = new SessionBudgets({ ...invocations, ...budget });
  const contextFor = (call: ToolContext): A2AToolContext => ({
    ...shared,
    budget: budgets.of(call),
    depth: positionFor(call.depth),
    signal: call.signal,
  });
  return [
    tool({
      name: "discover_agent",
      description: "Reads the card of an A2A agent: its name, what it does, and its skills.",
      inputSchema: { ...DiscoverInput },
      callsAgents: true,
      idempotent: true,
      run: async (input, call) =>
        toEvent(await discover(contextFor(call), input as unknown as DiscoverArguments)),
    }),
    tool({
      name: "invoke_remote_agent",
      description: "Sends a message to an A2A agent and waits for its answer.",
      inputSchema: { ...InvokeInput },
      callsAgents: true,
      timeoutMs: (MAX_MINUTES + 1) * MINUTE_MS,
      async *run(input, call) {
        const args = input as unknown as InvokeArguments;
        yield { kind: "tool:progress", text: `Calling the agent at ${args.agent_url}` };
        yield toEvent(await invoke(contextFor(call), args));
      },
    }),
  ];
}

const MINUTE_MS = 60_000;

const MAX_MINUTES = 60;

type DiscoverArguments = Static<typeof DiscoverInput>;

const DiscoverInput = Type.Object({
  url: Type.String({ minLength: 1, description: "The URL of the agent." }),
});

type InvokeArguments = Static<typeof InvokeInput>;

const InvokeInput = Type.Object({
  agent_url: Type.String({ minLength: 1, description: "The URL of the agent." }),
  message: Type.String({ minLength: 1, description: "What the agent should do." }),
  skill: Type.Optional(Type.String({ description: "The id of one of its skills." })),
  timeout_minutes: Type.Optional(
    Type.Number({ exclusiveMinimum: 0, maximum: MAX_MINUTES, description: "Default 5." }),
  ),
  min_trust: Type.Optional(
    Type.Enum([...TRUST_LEVELS], {
      description: "The trust in the agent that the call requires. Default low.",
    }),
  ),
});

/** The budgets of the conversations that call agents. Those that were not used for longest are dropped. */
class SessionBudgets {
  readonly #options: InvocationBudgetOptions;
  readonly #budgets = new Map<string, InvocationBudget>();

  constructor(options: InvocationBudgetOptions) {
    this.#options = options;
    // Validates the options before the first call.
    createInvocationBudget(options);
  }

  of({ caller, contextId }: ToolContext): InvocationBudget {
    const key = JSON.stringify([caller.owner, contextId]);
    const budget = this.#budgets.get(key) ?? createInvocationBudget(this.#options);
    this.#budgets.delete(key);
    this.#budgets.set(key, budget);
    const [oldest] = this.#budgets.keys();
    if (this.#budgets.size > MAX_SESSIONS && oldest !== undefined) this.#budgets.delete(oldest);
    return budget;
  }
}

const MAX_SESSIONS = 10_000;

/** The position of a call in its chain, given how many more times the work may be handed on. */
function positionFor(left = MAX_DEPTH): number {
  return MAX_DEPTH + 1 - Math.min(left, MAX_DEPTH);
}

/** What a model gets: a value, or a text that says why there is none. */
type Outcome = { readonly value: Metadata } | { readonly error: string };

async function discover(context: A2AToolContext, { url }: DiscoverArguments): Promise<Outcome> {
  if (isFromAgent(context, url)) return { error: REFUSED };
  const { allow, auth, signal, clock } = context;
  const card = await discoverAgent(url, { trusted: false, allow, auth, signal, clock });
  signal?.throwIfAborted();
  if (card === null) return { error: `There is no agent card at ${url}, or it may not be read.` };
  const { name, description, version, capabilities, skills = [] } = card;
  const shown = skills.map(({ id, name: title, description: about, tags }) => ({
    id,
    name: title,
    description: about,
    tags,
  }));
  return {
    value: { agent: url, notice: NOTICE, name, description, version, capabilities, skills: shown },
  };
}

async function invoke(context: A2AToolContext, args: InvokeArguments): Promise<Outcome> {
  const { agent_url: agent, message, skill, timeout_minutes: minutes = 5 } = args;
  if (isFromAgent(context, agent)) return { error: REFUSED };
  const { trust = LOW_TRUST, emitStatus: onStatus, budget = ownBudget() } = context;
  const { depth, allow, auth, sourceAgent, onRefusal, signal, clock } = context;
  const atLeast = higher(trust.atLeast ?? "low", args.min_trust ?? "low");
  try {
    const result = await invokeRemoteAgent(agent, message, {
      skill,
      budget,
      depth,
      allow,
      auth,
      sourceAgent,
      onRefusal,
      onStatus,
      signal,
      clock,
      timeoutMs: minutes * MINUTE_MS,
      trust: { of: trust.of, atLeast },
      // The model chooses the URL, and others choose what the model reads.
      trusted: false,
    });
    const { taskId, responseText: text, error } = result;
    if (result.success) return { value: { agent, taskId, notice: NOTICE, text: text ?? "" } };
    if (error === REFUSED) return { error };
    return { error: `The call of ${agent} failed. ${NOTICE} ${JSON.stringify(error)}` };
  } catch (error) {
    if (error instanceof ValidationError) return { error: error.message };
    throw error;
  }
}

/** The guard against agents that call each other without end. */
function isFromAgent({ source, onRefusal }: A2AToolContext, agent: string): boolean {
  if (source !== "agent") return false;
  const detail = "the session was opened by another agent, and may not call agents";
  onRefusal?.({ reason: "source", detail, agent });
  return true;
}

/** Without a way to find out more, an agent is as good as any other. */
const LOW_TRUST: AgentTrust = { of: () => "low" };

/** A model may demand more trust than the operator, but not less. */
function higher(one: TrustLevel, other: TrustLevel): TrustLevel {
  return TRUST_LEVELS.indexOf(one) > TRUST_LEVELS.indexOf(other) ? one : other;
}

function ownBudget(): InvocationBudget {
  return createInvocationBudget(readA2AEnvironment(process.env).invocations);
}

function toResult(outcome: Outcome): A2AToolResult {
  const isError = "error" in outcome;
  const text = isError ? outcome.error : JSON.stringify(outcome.value);
  return { content: [{ type: "text", text }], ...(isError && { isError }) };
}

function toEvent(outcome: Outcome): ToolEvent {
  if ("error" in outcome) return { kind: "tool:error", text: outcome.error };
  return { kind: "tool:result", value: outcome.value };
}
