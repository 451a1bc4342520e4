import { join } from "node:path";
import { belowName } from "../files/blob-names.ts";
import { Connection, type DatabaseAddress, toAddress } from "../postgres/connection.ts";
import { DatabaseError } from "../postgres/database-error.ts";
import { GET_META, readSchemaMark, writeSchemaMark } from "../postgres/marked-schema.ts";
import { prepareSchema } from "../postgres/migrations.ts";
import { placeText, readPlace, subAgentSchema } from "../postgres/sub-agent-schema.ts";
import type { TransferMark } from "../storage/transfer-mark.ts";
import { FILE, PostgresSource } from "./postgres-source.ts";
import { withBlobs } from "./task-blobs.ts";
import { PostgresTarget } from "./postgres-target.ts";
import {
  type Store,
  type StoreSource,
  type StoreTarget,
  type StoreTree,
  TransferError,
} from "./store.ts";

/** A copy may wait for long between two statements of a transaction. */
const SETTINGS = ["SET idle_in_transaction_session_timeout = 0"];

/** The schema that an address names, and those of sub-agents of the agents in it. */
export class DatabaseTree implements StoreTree {
  readonly label: string;
  readonly #address: DatabaseAddress;
  readonly #files: string | undefined;

  /** @param files the folder that has the large files of its tasks and of those of sub-agents, if there is one */
  constructor(url: string, files?: string) {
    this.#address = toAddress(url);
    this.#files = files;
    this.label = labelOf(this.#address, this.#address.schema);
  }

  async stores(): Promise<readonly Store[]> {
    const { schema } = this.#address;
    const connection = this.#connect(schema);
    try {
      const schemas = (await connection.rows(SCHEMAS)).map(([name]) => name as string);
      if (!schemas.includes(schema)) {
        throw new TransferError(
          `There are no tasks in ${this.label}: name the schema that has them.`,
        );
      }
      const found = [this.#store(schema, "")];
      for (const other of schemas.filter((name) => name.startsWith(`${schema}_`))) {
        const [row] = await connection.rows(GET_META.replace("@", `"${other}"`), ["place"]);
        const place = readPlace((row?.[0] as string | undefined) ?? "");
        if (place?.root === schema) found.push(this.#store(other, place.path));
      }
      return found;
    } catch (error) {
      throw error instanceof TransferError ? error : explained(this.#address, error);
    } finally {
      await connection.close();
    }
  }

  at(paths: readonly string[]): readonly Store[] {
    const stores = paths.map((path) => this.#store(this.#schemaFor(path, paths), path));
    const labels = new Map<string, string>();
    for (const { label, path } of stores) {
      const other = labels.get(label);
      if (other !== undefined) {
        throw new TransferError(
          `The tasks in ${other} and ${path} would both be in ${label}: rename one of these sub-agents first.`,
        );
      }
      labels.set(label, path);
    }
    return stores;
  }

  /** As a server names the schema: after the agents on the path that have tasks of their own. */
  #schemaFor(path: string, paths: readonly string[]): string {
    let { schema } = this.#address;
    for (const ancestor of ancestors(path)) {
      if (paths.includes(ancestor)) schema = subAgentSchema(schema, ancestor.split("/").at(-1)!);
    }
    return schema;
  }

  #store(schema: string, path: string): Store {
    const place = path === "" ? undefined : placeText(this.#address.schema, path);
    const store = new SchemaStore({ address: this.#address, schema, path, place });
    if (this.#files === undefined) return store;
    return withBlobs(store, path === "" ? this.#files : join(this.#files, belowName(schema)));
  }

  #connect(schema: string): Connection {
    return new Connection({ ...this.#address, schema, settings: SETTINGS });
  }
}

/** `agents/a`, `agents/a/agents/b` for the latter. */
function ancestors(path: string): readonly string[] {
  const words = path === "" ? [] : path.split("/");
  return words.flatMap((_, index) =>
    index % 2 === 1 ? [words.slice(0, index + 1).join("/")] : [],
  );
}

const SCHEMAS =
  "SELECT schemaname::text FROM pg_catalog.pg_tables WHERE tablename = 'meta' ORDER BY 1";

/** Without user and password. */
function labelOf({ label }: DatabaseAddress, schema: string): string {
  return `postgres://${label}?schema=${schema}`;
}

function explained(address: DatabaseAddress, error: unknown): TransferError {
  return new TransferError(`${DatabaseError.unusable(address, error).message}.`, { cause: error });
}

interface SchemaParts {
  readonly address: DatabaseAddress;
  readonly schema: string;
  readonly path: string;
  readonly place: string | undefined;
}

class SchemaStore implements Store {
  readonly label: string;
  readonly path: string;
  readonly #parts: SchemaParts;
  readonly #connection: Connection;

  constructor(parts: SchemaParts) {
    this.#parts = parts;
    this.path = parts.path;
    this.label = labelOf(parts.address, parts.schema);
    this.#connection = this.#connect();
  }

  async mark(): Promise<TransferMark | undefined> {
    return (await this.#exists()) ? readSchemaMark(this.#connection) : undefined;
  }

  async setMark(mark: TransferMark | undefined): Promise<void> {
    await writeSchemaMark(this.#connection, mark);
  }

  async isEmpty(): Promise<boolean> {
    if (!(await this.#exists())) return true;
    const rows = await this.#connection.rows(
      `(SELECT 1 FROM @.task LIMIT 1) UNION ALL (SELECT 1 FROM @.message LIMIT 1)
       UNION ALL (SELECT 1 FROM @.pruned_context LIMIT 1)`,
    );
    return rows.length === 0;
  }

  async lock(mark: TransferMark | undefined): Promise<void> {
    const { address, schema } = this.#parts;
    try {
      await prepareSchema(this.#connection, { ...address, schema });
      const before = await this.mark();
      await this.setMark(mark);
      const [living] = await this.#connection.rows(LIVING);
      if (living === undefined) return;
      await this.setMark(before);
      throw new TransferError(
        `A server on ${String(living[0])} uses ${this.label}: stop it first. The lease of one that was killed ends after a few seconds.`,
      );
    } catch (error) {
      throw error instanceof TransferError ? error : explained(address, error);
    }
  }

  read(): Promise<StoreSource> {
    return PostgresSource.open(this.#connect(), this.#parts.schema);
  }

  fill(isAtomic: boolean): Promise<StoreTarget> {
    const { schema, place } = this.#parts;
    return PostgresTarget.open(() => this.#connect(), schema, { isAtomic, place });
  }

  async discard(): Promise<void> {
    await this.#connection.rows(`TRUNCATE ${FILLED.map((table) => `@.${table}`).join(", ")}`);
    await this.#connection.rows(`DELETE FROM @.meta WHERE key LIKE '${FILE}%'`);
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #exists(): Promise<boolean> {
    const { address, schema } = this.#parts;
    try {
      const schemas = await this.#connection.rows(SCHEMAS);
      return schemas.some(([name]) => name === schema);
    } catch (error) {
      throw explained(address, error);
    }
  }

  #connect(): Connection {
    const { address, schema } = this.#parts;
    return new Connection({ ...address, schema, settings: SETTINGS });
  }
}

const LIVING = "SELECT host FROM @.replica WHERE until > clock_timestamp() LIMIT 1";

/** The tables that are filled. */
const FILLED = [
  "task",
  "segment",
  "snapshot",
  "message",
  "push",
  "counts",
  "ended_count",
  "pruned_context",
];
