import { createHash } from "node:crypto";
import type { Client, ClientConfig, QueryArrayConfig } from "pg";
import { ClosedError, DatabaseError } from "./database-error.ts";
import { DEFAULT_SCHEMA, MAX_SCHEMA } from "./sub-agent-schema.ts";

/** Rows are arrays, which are cheaper to create than objects. */
export type Rows = readonly (readonly unknown[])[];

/** A statement and its values. `@.` stands for the schema. */
export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
}

export interface ConnectionOptions {
  /** Creates a client that is not connected yet. */
  readonly createClient: () => Promise<Client>;
  readonly schema: string;
  /** Whether the server keeps prepared statements. A pooler in front of it may not. */
  readonly isPreparing: boolean;
  /** Executed once per connection. */
  readonly settings?: readonly string[];
}

/**
 * Every statement is a lookup in an index, or a walk along one up to a limit. The planner would prefer to read a table whole while it
 * is small, and a prepared plan stays the same while the table grows. The penalties with which it is
 * kept from that would make it compile every statement, hence `jit`. A process that stops in the
 * middle of a transaction must not hold its locks for long.
 */
export const SETTINGS = [
  "SET enable_seqscan = off",
  "SET enable_bitmapscan = off",
  "SET enable_hashjoin = off",
  "SET enable_mergejoin = off",
  "SET jit = off",
  "SET plan_cache_mode = force_generic_plan",
  "SET idle_in_transaction_session_timeout = '2s'",
];

/**
 * A connection to the database, opened when it is first used and again after it was lost. Statements
 * that are sent while others are executed follow them on the wire.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #quoted: string;
  readonly #statements = new Map<string, { readonly name?: string; readonly text: string }>();
  #client: Promise<Client> | undefined;
  #isClosed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#quoted = `"${options.schema}"`;
  }

  /** Calls `listener` for each notification, and `onLost` once when the connection is lost. */
  async listen(channel: string, events: ListenEvents): Promise<void> {
    const client = await this.#connected();
    client.on("notification", ({ payload }) => events.onNotification(payload ?? ""));
    client.once("end", events.onLost);
    await client.query(`LISTEN "${channel}"`);
  }

  /** Executes one statement. */
  async rows(text: string, values: readonly unknown[] = []): Promise<Rows> {
    const client = await this.#connected();
    sendTogether(client);
    return execute(client, this.#prepared({ text, values }));
  }

  /**
   * Executes statements in one transaction, with a single message to the server. One statement alone
   * is a transaction already.
   */
  async batch(statements: readonly Statement[]): Promise<readonly Rows[]> {
    const client = await this.#connected();
    const queries = statements.map((statement) => this.#prepared(statement));
    sendTogether(client);
    if (queries.length === 1) return [await execute(client, queries[0]!)];
    const results = await Promise.allSettled([
      client.query("BEGIN"),
      ...queries.map((query) => execute(client, query)),
      client.query("COMMIT"),
    ]);
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    return results.slice(1, -1).map((result) => (result as PromiseFulfilledResult<Rows>).value);
  }

  /** A transaction of several messages, which holds its locks between them: for migrations only. */
  async transaction(
    work: (run: (text: string, values?: readonly unknown[]) => Promise<Rows>) => Promise<void>,
  ): Promise<void> {
    const client = await this.#connected();
    const run = (text: string, values: readonly unknown[] = []): Promise<Rows> =>
      execute(client, { text: this.#named(text), values: [...values], rowMode: "array" });
    await run("BEGIN");
    try {
      await work(run);
      await run("COMMIT");
    } catch (error) {
      await run("ROLLBACK").catch(() => {});
      throw error;
    }
  }

  /** Gives up what is under way, because nothing is answered. The next statement connects again. */
  reset(): void {
    const client = this.#client;
    this.#client = undefined;
    client?.then((silent) => silent.end()).catch(() => undefined);
  }

  /** Completes what was sent, and disconnects. A server that does not answer is not waited for. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const client = await this.#client?.catch(() => undefined);
    if (client === undefined) return;
    const late = setTimeout(() => client.connection.stream.destroy(), CLOSE_MS);
    await client.end();
    clearTimeout(late);
  }

  #connected(): Promise<Client> {
    if (this.#isClosed) return Promise.reject(new ClosedError());
    if (this.#client !== undefined) return this.#client;
    // A client may end long after another one has taken its place.
    const forget = (): void => {
      if (this.#client === client) this.#client = undefined;
    };
    const client = this.#connect(forget);
    client.catch(forget);
    this.#client = client;
    return client;
  }

  async #connect(onLost: () => void): Promise<Client> {
    const client = await this.#options.createClient();
    // The statements that were under way reject by themselves.
    client.on("error", onLost);
    client.once("end", onLost);
    await client.connect();
    await client.query([...SETTINGS, ...(this.#options.settings ?? [])].join("; "));
    return client;
  }

  #prepared({ text, values = [] }: Statement): QueryArrayConfig {
    let known = this.#statements.get(text);
    if (known === undefined) {
      const named = this.#named(text);
      const name = createHash("sha256").update(named).digest("hex").slice(0, 16);
      known = { text: named, ...(this.#options.isPreparing && { name }) };
      this.#statements.set(text, known);
    }
    return { ...known, values: [...values], rowMode: "array" };
  }

  #named(text: string): string {
    return text.replaceAll(/@(?=\.|$)/g, this.#quoted);
  }
}

interface ListenEvents {
  readonly onNotification: (payload: string) => void;
  readonly onLost: () => void;
}

/** Everything that is executed in this turn of the event loop is sent in one packet: each wakes the server. */
function sendTogether({ connection: { stream } }: Client): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

async function execute(client: Client, query: QueryArrayConfig): Promise<Rows> {
  const { rows } = await client.query(query);
  return rows;
}

/** 8-byte integers are numbers: all of them are times, counts and task numbers below 2^53. */
const INT8 = 20;

/** How to reach the database. */
export interface DatabaseAddress {
  readonly schema: string;
  /** Host and database, for messages to people. */
  readonly label: string;
  /** The address that an administrator would use, for command lines in messages. */
  readonly adminUrl: string;
  readonly isPreparing: boolean;
  readonly hasPartitions: boolean;
  /** @param queryMs how long a statement may take; 0 for any time. Default 15 s. */
  readonly createClient: (queryMs?: number) => Promise<Client>;
}

const CONNECT_MS = 5000;
const QUERY_MS = 15_000;
const CLOSE_MS = 2000;

/**
 * @param url with `schema`, `prepare=false` and `partitions=none` as parameters of ours, in
 *   addition to those of libpq
 */
export function toAddress(url: string, schema?: string): DatabaseAddress {
  const parsed = parseUrl(url);
  const wanted = schema ?? parsed.searchParams.get("schema") ?? DEFAULT_SCHEMA;
  if (!/^[a-z_][a-z0-9_]*$/.test(wanted) || wanted.length > MAX_SCHEMA) {
    throw new DatabaseError(
      `schema: ${JSON.stringify(wanted)} must have only a-z, 0-9 and _, start with a letter, and have at most ${MAX_SCHEMA} characters`,
    );
  }
  const isPreparing = parsed.searchParams.get("prepare") !== "false";
  const hasPartitions = parsed.searchParams.get("partitions") !== "none";
  for (const own of ["schema", "prepare", "partitions"]) parsed.searchParams.delete(own);
  return {
    schema: wanted,
    adminUrl: adminUrl(parsed, wanted),
    label: `${parsed.host === "" ? (parsed.searchParams.get("host") ?? "localhost") : parsed.host}${parsed.pathname}`,
    isPreparing,
    hasPartitions,
    createClient: (queryMs = QUERY_MS) =>
      createClient({
        connectionString: parsed.href,
        application_name: `convoke/${wanted}`,
        query_timeout: queryMs,
      }),
  };
}

function adminUrl(database: URL, schema: string): string {
  const url = new URL(database);
  url.username = "admin";
  url.password = "";
  url.searchParams.delete("user");
  url.searchParams.delete("password");
  if (schema !== DEFAULT_SCHEMA) url.searchParams.set("schema", schema);
  return url.href;
}

function parseUrl(url: string): URL {
  const parsed = URL.parse(url);
  if (parsed === null || !/^postgres(ql)?:$/.test(parsed.protocol)) {
    throw new DatabaseError("url: expected an address such as postgres://user@host/database");
  }
  return parsed;
}

/** `pg` is loaded when the first connection is opened. */
async function createClient(config: ClientConfig): Promise<Client> {
  const { default: pg } = await import("pg");
  const getTypeParser = ((oid: number, format: "text") =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser;
  return new pg.Client({
    ...config,
    pipeline: true,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_MS,
    types: { getTypeParser },
  });
}
