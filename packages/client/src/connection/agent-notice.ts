/** What is to be said about an agent besides its answers. It is understood all the same. */
export interface AgentNotice {
  /** The agent writes something as an earlier A2A had it, which some day nobody may read any more. */
  readonly kind: "legacy-form";
  /** A sentence for people. */
  readonly message: string;
  readonly form: LegacyForm;
}

export type LegacyForm =
  /** An answer of 1.0 says its `kind`, as those of 0.3 do (1.0 §A.2.1). */
  | "kind"
  /** An answer of 0.3 does not say its `kind`, as those before it. */
  | "no-kind"
  /** A card of 1.0 says where 0.3 did that there is an extended card (1.0 §A.2.2). */
  | "extended-card";

export type OnAgentNotice = (notice: AgentNotice) => void;
