import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from "node:fs";
import { get } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { median } from "../rounds.ts";
import type { Row } from "../table.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** The file of the program in a checkout. */
export const PROGRAM = "apps/convoke/bin/convoke.js";

/** The memory of a process that has nothing to do is read after this time. */
const SETTLED_MS = 3000;

/** Only a broken start takes a minute. */
const PATIENCE_MS = 60_000;

interface Options {
  readonly starts: number;
  readonly data: string;
  readonly limits: {
    readonly seconds: number;
    /** Of the idle process, in MB. */
    readonly memory: number;
  };
}

/** From the start of the `convoke` process to its card, and its memory while it waits for requests. */
export async function start({ starts, data, limits }: Options): Promise<readonly Row[]> {
  const program = asInstalled(data);
  const times: number[] = [];
  const sizes: number[] = [];
  for (let turn = 0; turn <= starts; turn++) {
    const folder = mkdtempSync(join(data, "start-"));
    const { seconds, process } = await startConvoke(["--data", folder], program);
    await sleep(SETTLED_MS);
    // The first start writes the compiled code that the others use.
    if (turn > 0) {
      times.push(seconds);
      sizes.push(residentMegabytes(process));
    }
    await end(process);
  }
  const [seconds, memory] = [median(times), median(sizes)];
  return [
    {
      work: "start of the convoke process to its first card",
      ours: `${seconds.toFixed(3)} s`,
      budget: `${limits.seconds} s`,
      isMet: seconds <= limits.seconds,
    },
    {
      work: "… its memory, idle",
      ours: `${memory.toFixed(0)} MB`,
      budget: `${limits.memory} MB`,
      isMet: memory <= limits.memory,
    },
  ];
}

/** The program as npm installs it, without sources beside it, so that it runs the built packages. */
function asInstalled(data: string): string {
  execFileSync(join(ROOT, "node_modules/.bin/tsc"), ["-b"], { cwd: ROOT, stdio: "inherit" });
  const folder = join(data, "installed");
  mkdirSync(folder);
  cpSync(join(ROOT, "apps/convoke/bin"), join(folder, "bin"), { recursive: true });
  symlinkSync(join(ROOT, "apps/convoke/dist"), join(folder, "dist"));
  return join(folder, "bin/convoke.js");
}

/** On Linux only, as the figures of other lines. */
function residentMegabytes({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

export interface Started {
  /**
   * From the start of the process to its card: it serves nothing before it has recovered its tasks.
   */
  readonly seconds: number;
  readonly url: string;
  readonly process: ChildProcess;
}

/** @param program the file of another `convoke`; by default that of this checkout */
export async function startConvoke(
  args: readonly string[],
  program = join(ROOT, PROGRAM),
): Promise<Started> {
  const port = await freePort();
  const started = performance.now();
  const child = spawn(process.execPath, [program, "serve", ...args, "--port", String(port)], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const url = `http://127.0.0.1:${port}/`;
  while (!(await hasCard(url))) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error("convoke did not start");
    if (performance.now() - started > PATIENCE_MS) child.kill("SIGKILL");
    await sleep(2);
  }
  return { seconds: (performance.now() - started) / 1000, url, process: child };
}

export async function end(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

function hasCard(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = get(`${url}.well-known/agent-card.json`, { agent: false }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode === 200));
    });
    asked.on("error", () => resolve(false));
  });
}
