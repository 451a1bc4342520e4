import { spawn } from "node:child_process";
import { once } from "node:events";
import { type IncomingMessage, type Server, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { keptPort } from "../harness/kept-port.ts";
import { published } from "./a-world.ts";

/** server-everything over HTTP, on a port that it keeps when it is restarted. */
export class HttpServer {
  readonly port: number;
  #kill = async (): Promise<void> => undefined;

  constructor(port: number) {
    this.port = port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  async start(): Promise<void> {
    const { command, args = [], env } = published("everything", ["streamableHttp"]);
    const child = spawn(command, args, {
      env: { ...env, PORT: String(this.port) },
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#kill = async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    };
    for await (const chunk of child.stderr) {
      if (String(chunk).includes("listening on port")) break;
    }
  }

  kill(): Promise<void> {
    return this.#kill();
  }
}

export async function anHttpServer(): Promise<HttpServer> {
  const server = new HttpServer(await keptPort());
  onTestFinished(() => server.kill());
  await server.start();
  return server;
}

/** A proxy in front of a server that decides what passes. */
export interface Gate {
  readonly url: string;
  readonly seen: { readonly method: string; readonly headers: IncomingMessage["headers"] }[];
}

/** Responds according to the rule, or passes the request on to the server. */
export async function aGate(
  target: { readonly port: number },
  rule: (
    request: IncomingMessage,
  ) => { status: number; headers: Record<string, string> } | undefined,
): Promise<Gate> {
  const seen: Gate["seen"] = [];
  const gate = createServer((incoming, response) => {
    seen.push({ method: incoming.method!, headers: incoming.headers });
    const answer = rule(incoming);
    if (answer !== undefined) {
      incoming.resume();
      response.writeHead(answer.status, answer.headers).end("no");
      return;
    }
    const { method, url, headers } = incoming;
    const outgoing = request({ port: target.port, method, path: url, headers }, (answered) => {
      response.writeHead(answered.statusCode!, answered.headers);
      answered.pipe(response);
    });
    outgoing.on("error", () => response.destroy());
    response.on("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  await listen(gate);
  onTestFinished(async () => {
    gate.closeAllConnections();
    gate.close();
  });
  return { url: `http://127.0.0.1:${(gate.address() as AddressInfo).port}/mcp`, seen };
}

async function listen(server: Server): Promise<void> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
}
