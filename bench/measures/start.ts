import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { median } from "./cpu-per-stream.ts";

const BIN = fileURLToPath(new URL("../../apps/convoke/bin/convoke.js", import.meta.url));

/** Milliseconds from the start of the `convoke` process to its card, of several starts. */
export async function startToCard(starts: number): Promise<number> {
  const times = [];
  for (let start = 0; start < starts; start++) times.push(await oneStart());
  return median(times);
}

async function oneStart(): Promise<number> {
  const data = mkdtempSync(join(tmpdir(), "convoke-start-"));
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const started = performance.now();
  const child = spawn(process.execPath, [BIN, "serve", "--port", String(port), "--data", data], {
    stdio: "ignore",
  });
  try {
    while (!(await hasCard(port))) await new Promise((resolve) => setTimeout(resolve, 2));
    return performance.now() - started;
  } finally {
    child.kill("SIGKILL");
    rmSync(data, { recursive: true, force: true });
  }
}

function hasCard(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = get(
      { port, host: "127.0.0.1", path: "/.well-known/agent-card.json", agent: false },
      (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode === 200));
      },
    );
    asked.on("error", () => resolve(false));
  });
}
