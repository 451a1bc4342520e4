import type { NewPush, PushProgress, PushQuery, PushRecord, PushStore } from "@convoke/engine";
import {
  GET_PUSH,
  PUSHES_OF_TASK,
  type PushRow,
  pushValues,
  pushesSql,
  toPush,
} from "./push-sql.ts";
import type { Statements } from "./statements.ts";
import type { WriterThread } from "./writer-thread.ts";

/** Push configs: read on the read-only connection, written by the thread. */
export class SqlitePushStore implements PushStore {
  readonly #statements: Statements;
  readonly #writer: WriterThread;

  constructor(statements: Statements, writer: WriterThread) {
    this.#statements = statements;
    this.#writer = writer;
  }

  put(taskId: string, { id, config, cursor }: NewPush): Promise<PushRecord | undefined> {
    return this.#writer.write({ kind: "put-push", taskId, push: { id, config, cursor } });
  }

  async get(taskId: string, id: string): Promise<PushRecord | undefined> {
    const row = this.#statements.get(GET_PUSH).get(taskId, id) as unknown as PushRow | undefined;
    return row && toPush(row);
  }

  async ofTask(taskId: string): Promise<readonly PushRecord[]> {
    return toPushes(this.#statements.get(PUSHES_OF_TASK).all(taskId));
  }

  async list(query: PushQuery): Promise<readonly PushRecord[]> {
    return toPushes(this.#statements.get(pushesSql(query)).all(pushValues(query)));
  }

  progress({ taskId, id, generation, cursor, state, failure }: PushProgress): Promise<boolean> {
    return this.#writer.write({
      kind: "progress-push",
      progress: {
        taskId,
        id,
        generation,
        cursor,
        state,
        failure: failure && { since: failure.since, problem: failure.problem },
      },
    });
  }

  delete(taskId: string, id: string): Promise<boolean> {
    return this.#writer.write({ kind: "delete-push", taskId, id });
  }
}

function toPushes(rows: readonly unknown[]): readonly PushRecord[] {
  return (rows as readonly PushRow[]).map(toPush);
}
