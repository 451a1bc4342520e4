/** An oddity of an agent that the client tolerates. */
export interface AgentNotice {
  /** The agent uses a form of an earlier A2A, which clients may stop supporting. */
  readonly kind: "legacy-form";
  /** A message for people. */
  readonly message: string;
  readonly form: LegacyForm;
}

export type LegacyForm =
  /** A 1.0 response has a `kind`, as in 0.3 (1.0 §A.2.1). */
  | "kind"
  /** A 0.3 response has no `kind`, as before 0.3. */
  | "no-kind"
  /** A 1.0 card declares its extended card in the field of 0.3 (1.0 §A.2.2). */
  | "extended-card";

export type OnAgentNotice = (notice: AgentNotice) => void;
