// Installs the programs of the system that tests need and that are not here yet:
//
//     node scripts/services.ts
//
// It installs only as root on Debian or Ubuntu. Elsewhere it says what is missing, and how to get it.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type ProgramName,
  SYSTEM_PROGRAMS,
  findProgram,
  howToGet,
} from "../test/system-programs.ts";

/** Another process may be installing something; wait up to five minutes for it. */
const ATTEMPTS = 60;
const PAUSE_MS = 5000;

const LOCKED = /could not get lock|unable to (?:acquire|lock)|is another process using it/i;

const names = Object.keys(SYSTEM_PROGRAMS) as ProgramName[];
const missing = names.filter((name) => findProgram(name) === undefined);
const canInstall = process.getuid?.() === 0 && existsSync("/etc/debian_version");

if (missing.length > 0 && canInstall) {
  await apt(["update"]);
  const packages = missing.map((name) => SYSTEM_PROGRAMS[name].debian);
  await apt(["install", "--yes", "--no-install-recommends", ...packages]);
}
for (const name of names) {
  const path = findProgram(name);
  console.log(path === undefined ? `${name} is missing: ${howToGet(name)}` : `${name}: ${path}`);
  if (path === undefined && canInstall) process.exitCode = 1;
}

async function apt(args: readonly string[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const { status, stderr } = spawnSync("/usr/bin/apt-get", ["--quiet", "--quiet", ...args], {
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" },
      stdio: ["ignore", "inherit", "pipe"],
      encoding: "utf8",
    });
    if (status === 0) return;
    if (attempt === ATTEMPTS || !LOCKED.test(stderr)) {
      process.stderr.write(stderr);
      throw new Error(`apt-get ${args.join(" ")} ended with ${status}`);
    }
    await sleep(PAUSE_MS);
  }
}
