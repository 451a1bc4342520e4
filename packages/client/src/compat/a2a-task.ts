import type { TaskState } from "@convoke/protocol";

/** The states of the polling protocol; they only move forward. */
export type A2ATaskState = "submitted" | "working" | "completed" | "failed";

/** What somebody said, as text. */
export interface A2AMessage {
  readonly role: "user" | "agent";
  readonly parts: readonly A2ATextPart[];
}

/** `type` is what the polling protocol says, `kind` is for readers of A2A 0.3. */
interface A2ATextPart {
  readonly type: "text";
  readonly kind?: "text";
  readonly text: string;
}

/** A task of the polling protocol: `POST /a2a/tasks/send`, then `GET /a2a/tasks/:id`. */
export interface A2ATask {
  readonly id: string;
  readonly state: A2ATaskState;
  /** The state in the words of A2A, where the four above have none for it. */
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
    /** How long the task may take. */
    readonly timeoutMs?: number;
    /** How many agents have called one another up to this call; 1 for the first. */
    readonly depth?: number;
    /** Who calls, in its own words: good for a log, no proof of anything. */
    readonly sourceAgent?: string;
  };
}

/** What the handler of inbound tasks works with; `Database` is whatever its two functions read. */
export interface A2ATaskDeps<Database = unknown> {
  readonly db: Database;
  readonly processManager: A2AProcessManager;
  /** By default the agents of the database. */
  readonly listAgents?: (db: Database) => readonly A2AHostedAgent[];
  /** By default a session in the database. */
  readonly createSession?: (
    db: Database,
    input: Readonly<Record<string, unknown>>,
  ) => A2AHostedSession;
}

/** Runs the sessions and tells what happens in them. */
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
  /** An agent without one takes no tasks. */
  readonly defaultProjectId?: string | null;
}

interface A2AHostedSession {
  readonly id: string;
}
