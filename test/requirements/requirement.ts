/** The milestones that prove requirements, in planned order. */
type Milestone =
  | "skeleton" // both protocol versions over JSON-RPC, durable log, streams, CLI
  | "engine" // recovery, durable steps, exactly-once send, cancel, timers
  | "push" // push notifications, lists, limits, retention
  | "bindings" // REST and gRPC in addition to JSON-RPC, in both versions
  | "cards" // signed and extended cards, extensions, embedding
  | "client" // discovery, resumption, credentials, egress policy
  | "runtime" // agent loop, models, tools, approvals, journal
  | "tools" // MCP, client-side tools, sub-agents
  | "guard" // authentication, authorization, rate limits, tracing
  | "coder" // the coding agent
  | "host" // many agents on one origin, inbound sessions
  | "scale" // several replicas on one database
  | "console"; // the web console

/** One observable behaviour. Tests cite the id of what they prove, so that gaps are visible. */
export interface Requirement {
  /** The id that tests cite: `R37`, `G2`. */
  readonly id: string;
  /** What must be observable, in one or two sentences. */
  readonly text: string;
  /**
   * The origin of the requirement: a section of the specification, a document of our users, or us.
   */
  readonly source: string;
  /**
   * The milestone that completes the proof. Earlier tests may already cite the requirement, and a
   * later binding or backend has to satisfy it too.
   */
  readonly milestone: Milestone;
  /** `proven` requires a test that cites the id; a complete test run fails without one. */
  readonly status: "planned" | "proven";
}

/** Related requirements, under the title that reports print. */
export interface RequirementGroup {
  readonly title: string;
  readonly requirements: readonly Requirement[];
}
