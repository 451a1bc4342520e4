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
