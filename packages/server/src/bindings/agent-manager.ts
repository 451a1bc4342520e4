/** An agent of a server as its operators see it. */
export interface ManagedAgent {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** What it is made of, such as "model" or "process". */
  readonly kind: string;
  /** Where it comes from. */
  readonly source: "config" | "command-line" | "api" | "code";
  /** Whether operators have changed what its source says. */
  readonly isChanged: boolean;
  readonly isEnabled: boolean;
  readonly isDefault: boolean;
  /** How many tasks it is working on. */
  readonly running: number;
  /** Why it, or the change to it, could not be loaded. */
  readonly problem?: string;
}

/** Changes the agents of a server for its operators, and keeps the changes for the next start. */
export interface AgentManager {
  list(): readonly ManagedAgent[];
  add(id: string, definition: JsonDefinition): Promise<void>;
  /** Replaces the whole definition. */
  replace(id: string, definition: JsonDefinition): Promise<void>;
  /** Replaces some fields of the definition; `null` removes one. */
  edit(id: string, changes: JsonDefinition): Promise<void>;
  enable(id: string, isEnabled: boolean): Promise<void>;
  remove(id: string): Promise<void>;
}

/** A definition of an agent as JSON. */
export type JsonDefinition = Readonly<Record<string, unknown>>;

/** Why a change was rejected, and the status of the response. */
export const CHANGE_STATUSES = {
  invalid: 400,
  "not-allowed": 403,
  "unknown-agent": 404,
  conflict: 409,
} as const;

/** A change that a manager rejects. The operator gets the message. */
export class AgentChangeError extends Error {
  override readonly name = "AgentChangeError";
  readonly reason: keyof typeof CHANGE_STATUSES;

  constructor(reason: keyof typeof CHANGE_STATUSES, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
