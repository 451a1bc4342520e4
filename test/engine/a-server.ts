import type { Agent } from "@convoke/protocol";
import { type Server, serve } from "@convoke/server";
import type { Backend } from "@convoke/engine";
import { onTestFinished } from "vitest";
import { memoryLogger } from "./an-engine.ts";

/** An agent on a real port, with a store chosen by the test. It is stopped when the test ends. */
export async function aServer(agent: Agent, backend: Backend): Promise<Server> {
  const server = await serve(agent, {
    port: 0,
    host: "127.0.0.1",
    logger: memoryLogger(),
    openBackend: async () => backend,
    idempotency: "always",
  });
  onTestFinished(() => server.close());
  return server;
}

/** The response of a JSON-RPC server. */
export interface RpcAnswer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** Calls a method in the version that its name belongs to. */
export async function call(url: string, method: string, params: unknown): Promise<RpcAnswer> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "a2a-version": method.includes("/") ? "0.3" : "1.0",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return (await response.json()) as RpcAnswer;
}
