import { once } from "node:events";
import { type Server, createServer } from "node:net";

/** Below the ports that Linux and macOS assign for port 0. */
const FIRST = 20_000;
const PORTS_OF_A_WORKER = 1000;
const WORKERS = 12;

let next = Math.floor(Math.random() * PORTS_OF_A_WORKER);

/**
 * A free port for a server that restarts at the same address, or whose address others must know
 * before it starts. The system could assign any other port to another process in the meantime, so
 * each worker has its own range below those, and uses no port twice.
 */
export async function keptPort(): Promise<number> {
  const worker = Number(process.env["VITEST_POOL_ID"] ?? 0) % WORKERS;
  for (let tries = 0; tries < PORTS_OF_A_WORKER; tries++) {
    next = (next + 1) % PORTS_OF_A_WORKER;
    const port = FIRST + worker * PORTS_OF_A_WORKER + next;
    if (await isFree(port)) return port;
  }
  throw new Error("no port is free");
}

async function isFree(port: number): Promise<boolean> {
  const server: Server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
