import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseProxy } from "../harness/database-proxy.ts";
import { PostgresServer } from "../harness/postgres-server.ts";

const SCHEMA = "failover";

interface DatabasePairOptions {
  /** One of the programs of Postgres, in the folder of all of them. */
  readonly program: string;
  /** Whether a commit waits until the standby has it, too. */
  readonly isSynchronous: boolean;
}

/** A database server and its standby, for one test, behind an address that follows the primary. */
export class DatabasePair {
  readonly #primary: PostgresServer;
  readonly #standby: PostgresServer;
  readonly #front: DatabaseProxy;
  #isFollowing = true;

  private constructor(primary: PostgresServer, standby: PostgresServer, front: DatabaseProxy) {
    this.#primary = primary;
    this.#standby = standby;
    this.#front = front;
  }

  static async start({ program, isSynchronous }: DatabasePairOptions): Promise<DatabasePair> {
    const [primary, standby] = [
      new PostgresServer(program, aFolder(), isSynchronous ? ["synchronous_standby_names=*"] : []),
      new PostgresServer(program, aFolder()),
    ];
    primary.create();
    standby.createStandby(primary);
    return new DatabasePair(primary, standby, await DatabaseProxy.start(primary.url(SCHEMA)));
  }

  get url(): string {
    return this.#front.url;
  }

  /** From now on the standby receives nothing. */
  stopReplication(): void {
    this.#standby.crash();
    this.#isFollowing = false;
  }

  /** Kills the primary, and makes the standby the primary after a while. */
  async failOver(downMs: number): Promise<void> {
    this.#primary.kill();
    await sleep(downMs);
    if (!this.#isFollowing) this.#standby.start();
    this.#standby.promote();
    this.#front.pointTo(this.#standby.url(SCHEMA));
  }

  /** The rows of a query after the failover, each as a list of texts. `@.` stands for the schema. */
  rows(query: string): readonly (readonly string[])[] {
    return this.#standby.rows(query.replaceAll("@.", `${SCHEMA}.`));
  }

  stop(): void {
    this.#front.close();
    this.#standby.remove();
    this.#primary.remove();
  }
}

function aFolder(): string {
  return mkdtempSync(join(tmpdir(), "convoke-pair-"));
}
