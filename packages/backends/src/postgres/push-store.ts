import type { NewPush, PushProgress, PushQuery, PushRecord, PushStore, Seq } from "@convoke/engine";
import { isObject } from "@convoke/protocol/internal";
import type { Statement } from "./connection.ts";
import type { Reader } from "./reader.ts";
import { pushStateAt, pushStateNumber } from "./schema.ts";
import { fromText, toText } from "./text.ts";
import type { WriteQueue } from "./write-queue.ts";

/** The columns of `PushRow`. */
const SELECT_PUSH = `
  SELECT p.task_id, p.id, t.owner, p.config, p.generation, p.cursor, p.state, p.failing_since, p.problem
  FROM @.push p JOIN @.task t ON t.task_id = p.task_id`;

const PUT_PUSH = `
  INSERT INTO @.push (task_id, id, config, endpoint, generation, cursor, state)
  SELECT t.task_id, $2, $3, $5, 1, $4, 0 FROM @.task t WHERE t.task_id = $1
  ON CONFLICT (task_id, id) DO UPDATE SET generation = push.generation + 1, config = excluded.config,
    endpoint = excluded.endpoint, cursor = excluded.cursor, state = 0, failing_since = NULL, problem = NULL
  RETURNING generation, (SELECT t.owner FROM @.task t WHERE t.task_id = $1)`;

const PROGRESS = `
  UPDATE @.push SET cursor = $4, state = $5, failing_since = $6, problem = $7
  WHERE task_id = $1 AND id = $2 AND generation = $3 RETURNING id`;

const DELETE_PUSH = "DELETE FROM @.push WHERE task_id = $1 AND id = $2 RETURNING id";

/** The push configs of all tasks. */
export class PostgresPushStore implements PushStore {
  readonly #reader: Reader;
  readonly #writes: WriteQueue;

  constructor(reader: Reader, writes: WriteQueue) {
    this.#reader = reader;
    this.#writes = writes;
  }

  put(taskId: string, { id, config, cursor }: NewPush): Promise<PushRecord | undefined> {
    return this.#writes.write(async (connection) => {
      const values = [toText(taskId), toText(id), config, cursor, endpointIn(config)];
      const [row] = await connection.rows(PUT_PUSH, values);
      if (row === undefined) return undefined;
      const [generation, owner] = row as readonly [number, string];
      const record = { taskId, id, owner: fromText(owner), config, generation, cursor };
      return { ...record, state: "active" };
    }, taskId);
  }

  async get(taskId: string, id: string): Promise<PushRecord | undefined> {
    const text = `${SELECT_PUSH} WHERE p.task_id = $1 AND p.id = $2`;
    const [row] = await this.#reader.rows(text, [toText(taskId), toText(id)]);
    return row && toPush(row as PushRow);
  }

  async ofTask(taskId: string): Promise<readonly PushRecord[]> {
    const text = `${SELECT_PUSH} WHERE p.task_id = $1 ORDER BY p.id`;
    return toPushes(await this.#reader.rows(text, [toText(taskId)]));
  }

  async list(query: PushQuery): Promise<readonly PushRecord[]> {
    const { text, values } = pushesSql(query);
    return toPushes(await this.#reader.rows(text, values));
  }

  progress({ taskId, id, generation, cursor, state, failure }: PushProgress): Promise<boolean> {
    const values = [
      toText(taskId),
      toText(id),
      generation,
      cursor,
      pushStateNumber(state),
      failure?.since ?? null,
      failure === null ? null : toText(failure.problem),
    ];
    return this.#writes.write(
      async (connection) => (await connection.rows(PROGRESS, values)).length > 0,
      taskId,
    );
  }

  delete(taskId: string, id: string): Promise<boolean> {
    const values = [toText(taskId), toText(id)];
    return this.#writes.write(
      async (connection) => (await connection.rows(DELETE_PUSH, values)).length > 0,
      taskId,
    );
  }
}

/** Where a config delivers to: the origin and path of its URL, without what may be different each time. */
export function endpointIn(config: string): string {
  const target: unknown = JSON.parse(config);
  const url =
    isObject(target) && typeof target["url"] === "string" ? URL.parse(target["url"]) : null;
  return url === null ? "" : toText(url.origin + url.pathname);
}

/** The state is part of the text, so that Postgres can use the partial index of that state. */
function pushesSql({ state, owner, after, limit }: PushQuery): Statement {
  const values: unknown[] = [limit];
  const value = (of: string): string => `$${values.push(toText(of))}`;
  const filters = [
    `p.state = ${pushStateNumber(state)}`,
    ...(owner === undefined ? [] : [`t.owner = ${value(owner)}`]),
    ...(after === undefined
      ? []
      : [`(p.task_id, p.id) > (${value(after.taskId)}, ${value(after.id)})`]),
  ];
  const text = `${SELECT_PUSH} WHERE ${filters.join(" AND ")} ORDER BY p.task_id, p.id LIMIT $1`;
  return { text, values };
}

type PushRow = readonly [
  taskId: string,
  id: string,
  owner: string,
  config: string,
  generation: number,
  cursor: Seq,
  state: number,
  failingSince: number | null,
  problem: string | null,
];

function toPushes(rows: readonly (readonly unknown[])[]): readonly PushRecord[] {
  return (rows as readonly PushRow[]).map(toPush);
}

function toPush(row: PushRow): PushRecord {
  const [taskId, id, owner, config, generation, cursor, state, failingSince, problem] = row;
  return {
    taskId: fromText(taskId),
    id: fromText(id),
    owner: fromText(owner),
    config,
    generation,
    cursor,
    state: pushStateAt(state),
    ...(failingSince !== null && { failingSince }),
    ...(problem !== null && { problem: fromText(problem) }),
  };
}
