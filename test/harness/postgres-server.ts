import { spawnSync } from "node:child_process";
import { chownSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

/** Postgres refuses to run as root. */
const NOBODY = { uid: 65534, gid: 65534 };

/** Nothing must survive a power failure here, and many small transactions must be cheap. */
const SETTINGS = ["fsync=off", "full_page_writes=off", "max_connections=200", "listen_addresses="];

/** A database server in a folder of its own, which contains its socket. The folder must exist. */
export class PostgresServer {
  readonly folder: string;
  readonly #programs: string;
  readonly #settings: readonly string[];

  /** @param program one of the programs of Postgres, in the folder of all of them */
  constructor(program: string, folder: string, settings: readonly string[] = []) {
    this.#programs = dirname(realpathSync(program));
    this.folder = folder;
    this.#settings = [`unix_socket_directories=${folder}`, ...SETTINGS, ...settings];
  }

  /** The address of a schema. */
  url(schema: string): string {
    return `postgres://convoke@localhost/postgres?host=${encodeURIComponent(this.folder)}&schema=${schema}`;
  }

  /** Creates an empty database and starts the server. Throws if that fails. */
  create(): void {
    this.#ownFolder();
    this.#run("initdb", [
      ["-D", this.#data],
      ["-U", "convoke"],
      ["-A", "trust"],
      ["-E", "UTF8"],
      ["--locale=C", "--no-sync", "--no-instructions"],
    ]);
    this.start();
  }

  /** The same as a copy of another server, which it follows until it is promoted. */
  createStandby(primary: PostgresServer): void {
    this.#ownFolder();
    this.#run("pg_basebackup", [
      ["-D", this.#data],
      ["-h", primary.folder],
      ["-U", "convoke"],
      ["--checkpoint=fast", "--no-sync", "--write-recovery-conf"],
    ]);
    this.start();
  }

  start(): void {
    const settings = this.#settings.map((one) => `-c '${one}'`);
    this.#run("pg_ctl", [
      ["-D", this.#data],
      ["-l", join(this.folder, "log")],
      ["-o", settings.join(" ")],
      ["-w", "start"],
    ]);
  }

  /** Ends the server like a crash: it recovers from its log when it is started again. */
  crash(): void {
    this.#run("pg_ctl", [
      ["-D", this.#data],
      ["-m", "immediate"],
      ["-w", "stop"],
    ]);
  }

  /** Kills the main process. The others end when they notice it. */
  kill(): void {
    process.kill(
      Number.parseInt(readFileSync(join(this.#data, "postmaster.pid"), "utf8")),
      "SIGKILL",
    );
  }

  /** Makes a standby a primary. */
  promote(): void {
    this.#run("pg_ctl", [
      ["-D", this.#data],
      ["-w", "promote"],
    ]);
  }

  /** The rows of a query, each as a list of texts. */
  rows(query: string): readonly (readonly string[])[] {
    const { status, stdout, stderr, error } = spawnSync(
      join(this.#programs, "psql"),
      ["-h", this.folder, "-U", "convoke", "-d", "postgres", "-At", "-F", "\t", "-c", query],
      { encoding: "utf8" },
    );
    if (status !== 0) throw error ?? new Error(stderr);
    const lines = stdout.split("\n").filter((line) => line !== "");
    return lines.map((line) => line.split("\t"));
  }

  /** Ends the server, if it runs, and deletes its folder. */
  remove(): void {
    try {
      this.crash();
    } catch {
      // It does not run.
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  #ownFolder(): void {
    if (process.getuid?.() === 0) chownSync(this.folder, NOBODY.uid, NOBODY.gid);
  }

  get #data(): string {
    return join(this.folder, "data");
  }

  #run(name: string, args: readonly (readonly string[])[]): void {
    const { status, stderr, error } = spawnSync(join(this.#programs, name), args.flat(), {
      cwd: "/",
      env: { PATH: process.env["PATH"], LC_ALL: "C" },
      // The server outlives pg_ctl and must not keep the output open.
      stdio: ["ignore", "ignore", name === "initdb" ? "pipe" : "ignore"],
      encoding: "utf8",
      ...(process.getuid?.() === 0 && NOBODY),
    });
    if (status === 0) return;
    throw error ?? new Error(`${name} ended with ${status} ${stderr ?? ""}`);
  }
}
