import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { NEEDS, findProgram, howToGet } from "../test/system-programs.ts";

/** Postgres refuses to run as root. */
const NOBODY = { uid: 65534, gid: 65534 };

/** As it is installed, except that it listens on a socket in its folder only. */
const SETTINGS = ["listen_addresses=", "max_connections=200"];

/** A Postgres server on the disk of the bench, with `fsync` and `synchronous_commit`. */
export class Database {
  readonly #programs: string;
  readonly #folder: string;
  #schemas = 0;

  private constructor(programs: string, folder: string) {
    this.#programs = programs;
    this.#folder = folder;
  }

  /** Creates and starts a server in a new folder in `data`. */
  static start(data: string): Database {
    const program = findProgram("postgres");
    if (program === undefined)
      throw new Error(`This line ${NEEDS}postgres (${howToGet("postgres")}).`);
    const folder = join(data, "database");
    mkdirSync(folder);
    chmodSync(data, 0o755);
    if (process.getuid?.() === 0) chownSync(folder, NOBODY.uid, NOBODY.gid);
    const database = new Database(dirname(program), folder);
    const settings = [`unix_socket_directories=${folder}`, ...SETTINGS].map((one) => `-c ${one}`);
    database.#run("initdb", ["-U", "convoke", "-A", "trust", "-E", "UTF8", "--locale=C"]);
    database.#run("pg_ctl", ["-l", join(folder, "log"), "-o", settings.join(" "), "-w", "start"]);
    return database;
  }

  /** The address of a schema that is not used yet. */
  newSchema(): string {
    const schema = `bench_${++this.#schemas}`;
    return `postgres://convoke@localhost/postgres?host=${encodeURIComponent(this.#folder)}&schema=${schema}`;
  }

  /** CPU of all its processes that still run, in microseconds. */
  cpu(): number {
    const [first = ""] = readFileSync(join(this.#data, "postmaster.pid"), "utf8").split("\n");
    const processes = readdirSync("/proc").filter(
      (pid) => pid === first || parentOf(pid) === first,
    );
    return processes.reduce((sum, pid) => sum + usedBy(pid), 0);
  }

  close(): void {
    this.#run("pg_ctl", ["-m", "immediate", "-w", "stop"]);
  }

  get #data(): string {
    return join(this.#folder, "data");
  }

  #run(program: string, args: readonly string[]): void {
    const { status, error } = spawnSync(
      join(this.#programs, program),
      ["-D", this.#data, ...args],
      {
        cwd: "/",
        env: { LC_ALL: "C" },
        // The server outlives pg_ctl and must not keep the output open.
        stdio: "ignore",
        ...(process.getuid?.() === 0 && NOBODY),
      },
    );
    if (status !== 0) throw error ?? new Error(`${program} ended with ${status}`);
  }
}

function parentOf(pid: string): string | undefined {
  if (!/^\d+$/.test(pid)) return undefined;
  // The name of the program is in parentheses and may contain spaces.
  return readOf(pid, "stat")?.replace(/^.*\)/, "").trim().split(" ")[1];
}

/** CPU time of a process with one thread, in microseconds. */
function usedBy(pid: string): number {
  return Number(readOf(pid, "schedstat")?.split(" ")[0] ?? 0) / 1000;
}

/** A file about a process; `undefined` if it has ended meanwhile. */
function readOf(pid: string, file: string): string | undefined {
  try {
    return readFileSync(join("/proc", pid, file), "utf8");
  } catch {
    return undefined;
  }
}
