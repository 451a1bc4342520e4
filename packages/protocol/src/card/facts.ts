import type { AgentInfo } from "../agent.ts";
import type { AgentExtension } from "../extensions/agent-extension.ts";
import type { ProtocolVersion } from "../version.ts";

/** What is true of a served agent; each version's card says it in its own words. */
export interface AgentCardFacts {
  readonly info: AgentInfo;
  /** In order of preference. */
  readonly interfaces: readonly AgentInterface[];
  readonly capabilities: AgentCapabilities;
  /** Whether callers must send a bearer token. */
  readonly bearer: boolean;
}

/** One address at which the agent is spoken to. */
export interface AgentInterface {
  readonly url: string;
  readonly binding: "JSONRPC" | "HTTP+JSON" | "GRPC";
  readonly version: ProtocolVersion;
  /** 1.0 only: what callers of this address must name (1.0 §8.3.2). */
  readonly tenant?: string;
}

export interface AgentCapabilities {
  readonly streaming: boolean;
  readonly pushNotifications: boolean;
  /** There is a card for callers whom the agent knows. */
  readonly extendedAgentCard?: boolean;
  /** Those of the agent and those of the server. */
  readonly extensions?: readonly AgentExtension[];
}
