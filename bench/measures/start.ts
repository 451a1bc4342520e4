import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { get } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { median } from "../rounds.ts";
import type { Row } from "../table.ts";

const BIN = fileURLToPath(new URL("../../apps/convoke/bin/convoke.js", import.meta.url));

/** Only a broken start takes a minute. */
const PATIENCE_MS = 60_000;

interface Options {
  readonly starts: number;
  readonly data: string;
  /** In seconds. */
  readonly limit: number;
}

/** From the start of the `convoke` process to its card. */
export async function start({ starts, data, limit }: Options): Promise<readonly Row[]> {
  const times: number[] = [];
  for (let turn = 0; turn < starts; turn++) {
    const folder = mkdtempSync(join(data, "start-"));
    const { seconds, process } = await startConvoke(["--data", folder]);
    times.push(seconds);
    await end(process);
  }
  const seconds = median(times);
  return [
    {
      work: "start of the convoke process to its first card",
      ours: `${seconds.toFixed(3)} s`,
      budget: `${limit} s`,
      isMet: seconds <= limit,
    },
  ];
}

export interface Started {
  /**
   * From the start of the process to its card: it serves nothing before it has recovered its tasks.
   */
  readonly seconds: number;
  readonly url: string;
  readonly process: ChildProcess;
}

/** @param root another checkout whose `convoke` is started; by default this one */
export async function startConvoke(args: readonly string[], root?: string): Promise<Started> {
  const bin = root === undefined ? BIN : join(root, "apps/convoke/bin/convoke.js");
  const port = await freePort();
  const started = performance.now();
  const child = spawn(process.execPath, [bin, "serve", ...args, "--port", String(port)], {
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
