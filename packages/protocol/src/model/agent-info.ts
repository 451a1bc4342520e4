import type { Metadata } from "./part.ts";
import type { ProtocolVersion } from "./version.ts";

/** A skill of an agent, as its card lists it. */
export interface AgentSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly examples?: readonly string[];
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
}

/** An extension that an agent supports, as its card declares it (0.3 §5.5.2.1, 1.0 §4.4.4). */
export interface AgentExtension {
  /** Identifies the extension: callers activate it with exactly this text. */
  readonly uri: string;
  readonly description?: string;
  /** Requests that do not activate the extension are rejected. */
  readonly required?: boolean;
  /** What callers need to know to use it: any JSON object. */
  readonly params?: Metadata;
}

/** What the card says about an agent, and how the agent wants to be served. */
export interface AgentInfo {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly skills: readonly AgentSkill[];
  readonly inputModes: readonly string[];
  readonly outputModes: readonly string[];
  readonly documentationUrl?: string;
  readonly iconUrl?: string;
  readonly provider?: { readonly organization: string; readonly url: string };
  /** Extensions that the agent supports; the server adds its own. */
  readonly extensions?: readonly AgentExtension[];
  /** The agent may answer with a single message and no task; its task stays hidden until its first event decides. */
  readonly replies: boolean;
  /** At input-required, write `final: false` and keep the stream open. */
  readonly keepStreamOnInterrupt: boolean;
  /** The agent accepts messages while it works; they arrive through `Turn.inbox`. */
  readonly takesMessages: boolean;
  /** Start an interrupted run over after a crash instead of failing the task as interrupted. */
  readonly restart: boolean;
  /** Time limit for a whole task, in milliseconds. No limit if absent. */
  readonly timeoutMs?: number;
  /** How long the agent waits for an answer, and what happens then. Waits indefinitely if absent. */
  readonly inputTimeout?: InputTimeout;
}

/** What happens to an unanswered question: the agent continues without an answer, or the task fails. */
export interface InputTimeout {
  readonly ms: number;
  readonly afterwards: "continue" | "fail";
}

/** Everything a card says about a served agent; each version's codec writes it in its own format. */
export interface AgentCardFacts {
  readonly info: AgentInfo;
  /** In order of preference. */
  readonly interfaces: readonly AgentInterface[];
  readonly capabilities: AgentCapabilities;
  /** Whether callers must send a bearer token. */
  readonly bearer: boolean;
}

/** One endpoint of the agent. */
export interface AgentInterface {
  readonly url: string;
  readonly binding: "JSONRPC" | "HTTP+JSON" | "GRPC";
  readonly version: ProtocolVersion;
  /** 1.0 only: the tenant that callers of this endpoint must send (1.0 §8.3.2). */
  readonly tenant?: string;
}

export interface AgentCapabilities {
  readonly streaming: boolean;
  readonly pushNotifications: boolean;
  /** There is an extended card for authenticated callers. */
  readonly extendedAgentCard?: boolean;
  /** Extensions of the agent and of the server. */
  readonly extensions?: readonly AgentExtension[];
}
