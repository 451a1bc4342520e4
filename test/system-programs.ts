import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** A program that npm does not bring, and some tests need. */
interface SystemProgram {
  /** The variable that says where it is. */
  readonly variable: string;
  /** What it may be called on PATH, the likeliest first. */
  readonly commands: readonly string[];
  /** The package of Debian and Ubuntu that has it. */
  readonly debian: string;
}

/** A test names its program by the key; `scripts/services.ts` installs whatever is missing. */
export const SYSTEM_PROGRAMS = {
  chromium: {
    variable: "CHROMIUM_PATH",
    commands: ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"],
    debian: "chromium",
  },
  /** Runs a command at a terminal that it makes up. */
  script: { variable: "SCRIPT_PATH", commands: ["script"], debian: "bsdutils" },
} as const satisfies Readonly<Record<string, SystemProgram>>;

export type ProgramName = keyof typeof SYSTEM_PROGRAMS;

/** How the note of a test begins that was not run; the end of the run gathers them. */
export const NEEDS = "needs ";

/** Where the program is, or nothing when it is not here. */
export function findProgram(name: ProgramName, env = process.env): string | undefined {
  const { variable, commands } = SYSTEM_PROGRAMS[name];
  const told = env[variable];
  if (told !== undefined && told !== "") {
    if (isProgram(told)) return told;
    throw new Error(`${variable} must be the path of ${name}: ${told} is no program`);
  }
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return commands
    .flatMap((command) => folders.map((folder) => join(folder, command)))
    .find(isProgram);
}

/** What to do to have it. */
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
