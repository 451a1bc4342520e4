import type { TaskState } from "@convoke/protocol";

/** The states of the polling protocol; they only move forward. */
export type A2ATaskState = "submitted" | "working" | "completed" | "failed";

/** A text message. */
export interface A2AMessage {
  readonly role: "user" | "agent";
  readonly parts: readonly A2ATextPart[];
}

/** `type` is the field of the polling protocol, `kind` that of A2A 0.3. */
interface A2ATextPart {
  readonly type: "text";
  readonly kind?: "text";
  readonly text: string;
}

/** A task of the polling protocol: `POST /a2a/tasks/send`, then `GET /a2a/tasks/:id`. */
export interface A2ATask {
  readonly id: string;
  readonly state: A2ATaskState;
  /** The A2A state, if none of the four states above matches it. */
  readonly a2aState?: TaskState;
  readonly messages: readonly A2AMessage[];
  readonly sessionId: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** The body of `POST /a2a/tasks/send`. */
export interface A2ATaskSendRequest {
  readonly method: "tasks/send";
  readonly params: {
    readonly message: string;
    readonly skill?: string;
    /** Time limit of the task. */
    readonly timeoutMs?: number;
    /** The position of this call in a chain of agents; 1 for the first. */
    readonly depth?: number;
    /** The caller's name according to itself: useful for logs, not a proof of identity. */
    readonly sourceAgent?: string;
  };
}

/** The dependencies of the handler of inbound tasks; `Database` is what its two functions read. */
export interface A2ATaskDeps<Database = unknown> {
  readonly db: Database;
  readonly processManager: A2AProcessManager;
  /** Default: the agents in the database. */
  readonly listAgents?: (db: Database) => readonly A2AHostedAgent[];
  /** Default: a session in the database. */
  readonly createSession?: (
    db: Database,
    input: Readonly<Record<string, unknown>>,
  ) => A2AHostedSession;
}

/** Runs sessions and reports their events. */
interface A2AProcessManager {
  subscribe(sessionId: string, listener: (sessionId: string, event: unknown) => void): void;
  startProcess(
    session: A2AHostedSession,
    prompt: string,
    options?: Readonly<Record<string, unknown>>,
  ): void;
}

interface A2AHostedAgent {
  readonly id: string;
  readonly name: string;
  /** An agent without one accepts no tasks. */
  readonly defaultProjectId?: string | null;
}

interface A2AHostedSession {
  readonly id: string;
}
