import { spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { needs } from "../needs.ts";
import { findProgram } from "../system-programs.ts";

/** Postgres refuses to run as root. */
const NOBODY = { uid: 65534, gid: 65534 };

/** Nothing must survive a power failure here, and many small transactions must be cheap. */
const SETTINGS = [
  "fsync=off",
  "synchronous_commit=off",
  "full_page_writes=off",
  "max_connections=200",
  "listen_addresses=",
];

/**
 * The tests of a file or of a `describe` need Postgres. Returns the address of a schema that no
 * other test uses. The first test of a run that asks starts a server for all of them;
 * `stop-postgres.ts` ends it.
 */
export function needsPostgres(): () => Promise<string> {
  const program = needs("postgres");
  return async () => {
    const folder = await started(dirname(program()));
    const schema = `test_${process.pid}_${++schemas}`;
    return `postgres://convoke@localhost/postgres?host=${encodeURIComponent(folder)}&schema=${schema}`;
  };
}

let schemas = 0;

/** The folder of the server, which contains its socket. */
async function started(programs: string): Promise<string> {
  const folder = process.env["CONVOKE_TEST_DATABASE"];
  if (folder === undefined) throw new Error("CONVOKE_TEST_DATABASE is set by vitest.config.ts");
  const report = join(folder, "started");
  if (isFirst(folder)) {
    const problem = start(programs, folder);
    writeFileSync(report, problem);
  }
  while (!existsSync(report)) await sleep(50);
  const problem = readFileSync(report, "utf8");
  if (problem !== "") throw new Error(`the database server did not start: ${problem}`);
  return folder;
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
function start(programs: string, folder: string): string {
  const data = join(folder, "data");
  if (process.getuid?.() === 0) chownSync(folder, NOBODY.uid, NOBODY.gid);
  const settings = [`unix_socket_directories=${folder}`, ...SETTINGS].map((one) => `-c ${one}`);
  return (
    run(join(programs, "initdb"), [
      ["-D", data],
      ["-U", "convoke"],
      ["-A", "trust"],
      ["-E", "UTF8"],
      ["--locale=C", "--no-sync", "--no-instructions"],
    ]) ??
    run(join(programs, "pg_ctl"), [
      ["-D", data],
      ["-l", join(folder, "log")],
      ["-o", settings.join(" ")],
      ["-w", "start"],
    ]) ??
    ""
  );
}

/** Ends the server of this run, if there is one. */
export function stopPostgres(): void {
  const folder = process.env["CONVOKE_TEST_DATABASE"];
  const program = findProgram("postgres");
  if (folder === undefined || program === undefined || !existsSync(folder)) return;
  const data = join(folder, "data");
  run(join(dirname(program), "pg_ctl"), [
    ["-D", data],
    ["-m", "immediate"],
    ["-w", "stop"],
  ]);
  rmSync(folder, { recursive: true, force: true });
}

/** The error output of a program that failed. */
function run(program: string, args: readonly (readonly string[])[]): string | undefined {
  const { status, stderr, error } = spawnSync(program, args.flat(), {
    cwd: "/",
    env: { PATH: process.env["PATH"], LC_ALL: "C" },
    // The server outlives pg_ctl and must not keep the output open.
    stdio: ["ignore", "ignore", program.endsWith("initdb") ? "pipe" : "ignore"],
    encoding: "utf8",
    ...(process.getuid?.() === 0 && NOBODY),
  });
  if (status === 0) return undefined;
  return error?.message ?? `${program} ended with ${status} ${stderr ?? ""}`;
}
