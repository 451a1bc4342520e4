import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PostgresServer } from "../harness/postgres-server.ts";

const SCHEMA = "torture";

/** A database server that only one test uses, because the test crashes it. */
export class PrivateDatabase {
  readonly #server: PostgresServer;

  /** @param program one of the programs of Postgres, in the folder of all of them */
  constructor(program: string) {
    const folder = mkdtempSync(join(tmpdir(), "convoke-torture-"));
    this.#server = new PostgresServer(program, folder);
    this.#server.create();
  }

  get url(): string {
    return this.#server.url(SCHEMA);
  }

  /** Crashes the server, and starts it again after a while. What was committed is not lost. */
  async restart(downMs: number): Promise<void> {
    this.#server.crash();
    await sleep(downMs);
    this.#server.start();
  }

  /** Ends the connections of all processes. */
  terminateConnections(): void {
    this.rows(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'convoke/%'`,
    );
  }

  /** The rows of a query, each as a list of texts. `@.` stands for the schema. */
  rows(query: string, schema = SCHEMA): readonly (readonly string[])[] {
    return this.#server.rows(query.replaceAll("@.", `${schema}.`));
  }

  stop(): void {
    this.#server.remove();
  }
}
