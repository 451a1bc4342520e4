/** The pieces of work that prove requirements, in the order in which they are planned. */
type Milestone =
  | "skeleton" // both protocol versions over JSON-RPC, durable log, streams, CLI
  | "engine" // recovery, durable steps, exactly-once send, cancel, timers
  | "push" // push notifications, lists, limits, retention
  | "bindings" // REST and gRPC beside JSON-RPC, in both versions
  | "cards" // signed and extended cards, extensions, embedding
  | "client" // discovery, resumption, credentials, egress policy
  | "runtime" // agent loop, models, tools, approvals, journal
  | "tools" // MCP, client-side tools, sub-agents
  | "guard" // authentication, authorization, rate limits, tracing
  | "coder" // the coding agent
  | "host" // many agents on one origin, inbound sessions
  | "scale" // several replicas on one database
  | "console"; // the web console

/** One observable behaviour, so that a test can name what it proves and nothing is forgotten. */
export interface Requirement {
  /** What tests cite: `R37`, `G2`. */
  readonly id: string;
  /** What must be observable, in one or two sentences. */
  readonly text: string;
  /** Where the demand comes from: a section of the protocol, a document of our users, or us. */
  readonly source: string;
  /**
   * The work that completes the proof. Earlier tests may already cite the requirement, and a
   * binding or backend that comes later has to keep what is proven.
   */
  readonly milestone: Milestone;
  /** `proven` requires a test that cites the id; a run of all tests fails without one. */
  readonly status: "planned" | "proven";
}

/** Requirements that are read together, under the title that reports print. */
export interface RequirementGroup {
  readonly title: string;
  readonly requirements: readonly Requirement[];
}
