import { type AgentDefinition, defineAgent } from "convoke";
import { createMemoryBackend } from "@convoke/engine/memory";
import { type ServeOptions, serve } from "@convoke/server";
import { onTestFinished } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";

/** A server on a real port, with what it has logged. Gone when the test is over. */
export async function aServer(
  options: Partial<ServeOptions> = {},
  definition: Partial<AgentDefinition> = {},
) {
  const logger = memoryLogger();
  const agent = defineAgent({
    name: "Measured",
    description: "Does what it is told.",
    run: async () => "done",
    ...definition,
  });
  const server = await serve(agent, {
    port: 0,
    host: "127.0.0.1",
    logger,
    openBackend: async () => createMemoryBackend(),
    ...options,
  });
  onTestFinished(() => server.close());
  return { server, url: server.url, log: logger.lines };
}

/** Sends a message by JSON-RPC 1.0 and waits for the answer. */
export function send(url: string, text: string, headers: Record<string, string> = {}) {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] };
  return rpc(url, "SendMessage", { message }, headers);
}

export function rpc(
  url: string,
  method: string,
  params: object,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
}

/** The samples of a server's metrics by name and labels. */
export async function metricsOf(
  url: string,
  headers: Record<string, string> = {},
): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${url}metrics`, { headers })).text();
  const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    samples.map((line) => {
      const end = line.lastIndexOf(" ");
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}
