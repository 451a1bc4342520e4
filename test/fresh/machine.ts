import { accessSync, constants, realpathSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { succeed } from "../harness/program.ts";
import { Program, type ProgramEnd } from "../harness/running-program.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Git, and what every system has: npm runs scripts with `sh`, and tests run commands. */
const PROGRAMS = `
  git sh bash cat chmod cp cut date dirname echo env false find grep head ln ls mkdir mktemp mv
  nice nohup printf pwd rm sed seq sleep sort stat tail tee test timeout touch tr true uname wc
  xargs yes
`
  .trim()
  .split(/\s+/);

/** An ordinary user: it owns its clone and its home, and nothing else. */
const NOBODY = 65_534;

/** How this machine reaches the registry; a fresh one has nothing else from here. */
const NETWORK = /^(?:https?_proxy|no_proxy|node_extra_ca_certs|npm_config_(?:cafile|registry))$/i;

export interface MachineOptions {
  /** The Node of the machine. */
  readonly node: string;
  /** The folder of the npm that comes with it. */
  readonly npm: string;
  readonly isRoot: boolean;
}

/** Only root can become another user, so anybody else tries only what an ordinary user sees. */
export const CAN_CHOOSE_USER = process.getuid?.() === 0 && process.platform === "linux";

/**
 * As if the machine were new: a clone of the last commit, a PATH that has Node, npm and git alone,
 * an empty home, and so an empty cache of npm.
 */
export class Machine {
  readonly #folder: string;
  readonly #command: readonly string[];
  readonly #started: Program[] = [];

  private constructor(folder: string, command: readonly string[]) {
    this.#folder = folder;
    this.#command = command;
  }

  static async create({ node, npm, isRoot }: MachineOptions): Promise<Machine> {
    const folder = await mkdtemp(join(tmpdir(), "convoke-fresh-"));
    const [path, home] = [join(folder, "bin"), join(folder, "home")];
    await mkdir(path);
    await mkdir(home);
    await symlink(realpathSync(node), join(path, "node"));
    for (const name of ["npm", "npx"]) {
      await symlink(join(npm, "bin", `${name}-cli.js`), join(path, name));
    }
    for (const name of PROGRAMS) await symlink(realpathSync(programOnPath(name)), join(path, name));
    await succeed("git", ["clone", "--quiet", `file://${ROOT}`, join(folder, "clone")], {});
    const settings = Object.entries({ ...network(), PATH: path, HOME: home });
    const env = ["env", "-i", ...settings.map(([name, value]) => `${name}=${value}`)];
    if (isRoot || !CAN_CHOOSE_USER) return new Machine(folder, env);
    await succeed("chown", ["-R", `${NOBODY}:${NOBODY}`, folder], {});
    const ids = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
    return new Machine(folder, ["setpriv", ...ids, ...env]);
  }

  /** Starts a command in the clone, as the foreground of a terminal. It may take `withinMs`. */
  start(line: string, withinMs: number): Program {
    const args = [...this.#command, ...line.split(" ")];
    const options = { cwd: join(this.#folder, "clone"), timeoutMs: withinMs };
    const program = new Program("setsid", args, options);
    this.#started.push(program);
    return program;
  }

  /** Presses Ctrl+C, which reaches npm and all that it has started. */
  async interrupt(program: Program): Promise<ProgramEnd> {
    process.kill(-program.pid, "SIGINT");
    return program.ended;
  }

  run(line: string, withinMs: number): Promise<ProgramEnd> {
    return this.start(line, withinMs).ended;
  }

  async remove(): Promise<void> {
    for (const { pid, end } of this.#started) if (end === undefined) process.kill(-pid, "SIGKILL");
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function network(): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => NETWORK.test(name)));
}

function programOnPath(name: string): string {
  const paths = (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, name));
  const found = paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new Error(`There is no ${name} on PATH.`);
  return found;
}
