import { accessSync, constants, globSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** A program that npm does not install and some tests need. */
interface SystemProgram {
  /** The variable with its path, or with the folder that contains it. */
  readonly variable: string;
  /** Its possible names on PATH, the likeliest first. */
  readonly commands: readonly string[];
  /** Where its package installs it if that is not on PATH, as a pattern. */
  readonly folders?: string;
  /** The Debian and Ubuntu package that contains it. */
  readonly debian: string;
}

/** A test names its program by the key; `scripts/services.ts` installs missing ones. */
export const SYSTEM_PROGRAMS = {
  chromium: {
    variable: "CHROMIUM_PATH",
    commands: ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"],
    debian: "chromium",
  },
  /** Isolates the commands of the coding agent. The product finds it with the same variable. */
  bubblewrap: { variable: "CONVOKE_BWRAP", commands: ["bwrap"], debian: "bubblewrap" },
  /** A shell whose completion is tested. */
  fish: { variable: "FISH_PATH", commands: ["fish"], debian: "fish" },
  git: { variable: "GIT_PATH", commands: ["git"], debian: "git" },
  /** Names the process behind a port, in the README. */
  lsof: { variable: "LSOF_PATH", commands: ["lsof"], debian: "lsof" },
  /** The load balancer of the cluster example. Debian installs it where only root has it on PATH. */
  nginx: {
    variable: "CONVOKE_NGINX",
    commands: ["nginx"],
    folders: "/usr/sbin",
    debian: "nginx",
  },
  /** Runs the example of a program that is an agent. */
  python: { variable: "PYTHON_PATH", commands: ["python3"], debian: "python3" },
  /** Starts a database server, with the other programs of its folder. */
  postgres: {
    variable: "CONVOKE_POSTGRES",
    commands: ["initdb"],
    folders: "/usr/lib/postgresql/*/bin",
    debian: "postgresql",
  },
  /** Runs a command in a pseudo-terminal. */
  script: { variable: "SCRIPT_PATH", commands: ["script"], debian: "bsdutils" },
  /** Shows which programs a process starts. */
  strace: { variable: "STRACE_PATH", commands: ["strace"], debian: "strace" },
  /** A terminal whose screen can be read. */
  tmux: { variable: "TMUX_PATH", commands: ["tmux"], debian: "tmux" },
  /** A shell whose completion is tested. */
  zsh: { variable: "ZSH_PATH", commands: ["zsh"], debian: "zsh" },
} as const satisfies Readonly<Record<string, SystemProgram>>;

export type ProgramName = keyof typeof SYSTEM_PROGRAMS;

/** The start of the note of a skipped test; the end of the run collects them. */
export const NEEDS = "needs ";

/** The path of the program, or `undefined` if it is not installed. */
export function findProgram(name: ProgramName, env = process.env): string | undefined {
  const { variable, commands, folders }: SystemProgram = SYSTEM_PROGRAMS[name];
  const told = env[variable];
  if (told !== undefined && told !== "") {
    const path = [told, ...commands.map((command) => join(told, command))].find(isProgram);
    if (path !== undefined) return path;
    throw new Error(`${variable} must be the path of ${name}: ${told} is no program`);
  }
  const onPath = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const installed = folders === undefined ? [] : globSync(folders).toSorted().toReversed();
  return commands
    .flatMap((command) => [...onPath, ...installed].map((folder) => join(folder, command)))
    .find(isProgram);
}

/** How to install it. */
export function howToGet(name: ProgramName): string {
  const { variable, debian } = SYSTEM_PROGRAMS[name];
  return `apt-get install ${debian}, or set ${variable} to its path`;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
