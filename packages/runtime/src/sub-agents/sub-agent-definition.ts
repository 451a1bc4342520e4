import type { ConnectOptions, RemoteAgent } from "@convoke/client";
import type { Agent } from "@convoke/protocol";
import type { ConfirmRule } from "../tools/tool.ts";

/** Another agent that an agent may call: its address, an agent of this process, or more of either. */
export type SubAgentDefinition = string | Agent | RemoteAgent | SubAgentAtUrl | SubAgentHere;

/** The sub-agents of an agent, by the names of their tools. */
export type SubAgentsDefinition = Readonly<Record<string, SubAgentDefinition>>;

interface SubAgentRules {
  /** For the model, instead of what the agent's card says. */
  readonly description?: string;
  /** Whether a call needs somebody's approval. By default it does not: what the agent does may. */
  readonly confirm?: ConfirmRule;
  /** How long the agent may work without asking for something; by default 10 minutes. */
  readonly timeoutMs?: number;
  /** How long a call waits for an agent that is not there, as while it is restarted; by default 5 seconds. */
  readonly patienceMs?: number;
}

/** How an agent elsewhere is reached; see `connect`. */
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

/** An agent elsewhere. */
export interface SubAgentAtUrl extends SubAgentRules, Reaching {
  readonly url: string;
  readonly agent?: undefined;
}

/** An agent of this process, or one that is connected already. */
export interface SubAgentHere extends SubAgentRules {
  readonly agent: Agent | RemoteAgent;
  readonly url?: undefined;
}
