import { type ExecFileOptions, execFile } from "node:child_process";
import { chmod, copyFile, mkdir, mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What a shell did while it ran a line. */
interface Trace {
  /** The arguments of each program that was started, without those of the shell itself. */
  readonly started: readonly (readonly string[])[];
  /** The files that exist now and did not before. */
  readonly written: readonly string[];
}

/** A random line must not be able to harm the system, even if the tests run as root. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

const REAL = ["bash", "env", "find", "nice", "nohup", "sh", "timeout", "xargs"];

/** Runs shell lines under strace in a folder where only harmless programs are found. */
export class TracedShell {
  readonly #strace: string;
  readonly #folder: string;
  #runs = 0;

  private constructor(strace: string, folder: string) {
    this.#strace = strace;
    this.#folder = folder;
  }

  static async open(strace: string): Promise<TracedShell> {
    const folder = await mkdtemp(join(tmpdir(), "traced-shell-"));
    const bin = join(folder, "bin");
    await mkdir(bin);
    for (const name of REAL) await copyProgram(name, join(bin, name));
    for (const name of ["p1", "p2", "p3", "f"]) await copyProgram("true", join(bin, name));
    await copyProgram("false", join(bin, "fails"));
    await chmod(folder, 0o777);
    return new TracedShell(strace, folder);
  }

  async run(line: string): Promise<Trace> {
    const place = join(this.#folder, String((this.#runs += 1)));
    const log = `${place}.log`;
    await mkdir(place);
    await chmod(place, 0o777);
    await copyProgram("true", join(place, "p1"));
    const shell = ["/bin/bash", "--noprofile", "--norc", "-c", line];
    const strace = ["-f", "-qq", "-xx", "-s", "4096", "-e", "trace=execve", "-e", "signal=none"];
    await settled(this.#strace, [...strace, "-o", log, ...shell], {
      cwd: place,
      // FUNCNEST ends functions that call themselves.
      env: { PATH: join(this.#folder, "bin"), X: "p2 p3", HOME: place, FUNCNEST: "4" },
      timeout: 20_000,
      killSignal: "SIGKILL",
      ...NOBODY,
    });
    const started = startsIn(await readFile(log, "utf8")).slice(1);
    const written = (await readdir(place)).filter((name) => name !== "p1");
    return { started, written };
  }

  close(): Promise<void> {
    return rm(this.#folder, { recursive: true, force: true });
  }
}

/** A copy, because a line that redirects to a link would overwrite the program of the system. */
async function copyProgram(name: string, to: string): Promise<void> {
  await copyFile(`/usr/bin/${name}`, to);
  await chmod(to, 0o755);
}

/** Runs a program without input to its end, however it ends. */
function settled(
  program: string,
  args: readonly string[],
  options: ExecFileOptions,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const child = execFile(program, args, options, () => resolve());
  child.stdin?.end();
  return promise;
}

function startsIn(log: string): readonly (readonly string[])[] {
  return [...log.matchAll(/ execve\("[^"]*", \[([^\]]*)\]/g)].map(([, list = ""]) =>
    [...list.matchAll(/"([^"]*)"/g)].map(([, text = ""]) =>
      Buffer.from(text.replaceAll("\\x", ""), "hex").toString(),
    ),
  );
}
