import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { needs } from "../needs.ts";
import { findProgram } from "../system-programs.ts";
import { PostgresServer } from "./postgres-server.ts";

/**
 * The tests of a file or of a `describe` need Postgres. Returns the address of a schema that no
 * other test uses. The first test of a run that asks starts a server for all of them;
 * `stop-postgres.ts` ends it.
 */
export function needsPostgres(): () => Promise<string> {
  const program = needs("postgres");
  return async () => {
    const server = await started(program());
    // Tests in several threads of one process must not choose the same name.
    return server.url(`test_${randomBytes(8).toString("hex")}`);
  };
}

/** The server of this run. */
async function started(program: string): Promise<PostgresServer> {
  const folder = process.env["CONVOKE_TEST_DATABASE"];
  if (folder === undefined) throw new Error("CONVOKE_TEST_DATABASE is set by vitest.config.ts");
  const server = new PostgresServer(program, folder, ["synchronous_commit=off"]);
  const report = join(folder, "started");
  if (isFirst(folder))
    writeFileSync(
      report,
      problemOf(() => server.create()),
    );
  while (!existsSync(report)) await sleep(50);
  const problem = readFileSync(report, "utf8");
  if (problem !== "") throw new Error(`the database server did not start: ${problem}`);
  return server;
}

function isFirst(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

/** What went wrong; empty if nothing did. */
function problemOf(work: () => void): string {
  try {
    work();
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

/** Ends the server of this run, if there is one. */
export function stopPostgres(): void {
  const folder = process.env["CONVOKE_TEST_DATABASE"];
  const program = findProgram("postgres");
  if (folder === undefined || program === undefined || !existsSync(folder)) return;
  new PostgresServer(program, folder).remove();
}
