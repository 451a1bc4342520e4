import { type CoderOptions, coder } from "@convoke/coder";
import type { Message } from "@convoke/protocol";
import { type ServeOptions, serve } from "@convoke/server";
import { openAgentData } from "@convoke/runtime/agent-data";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { CoderClient, coderClient } from "../coder-wire/a-coder-client.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";

/** A folder with files, and the place next to it where the agent keeps its own. */
export interface TestFolder {
  readonly root: string;
  readonly data: string;
  /** The address of a database that agents share. Default: everything is in `data`. */
  readonly database?: string;
}

export function aFolder(files: Readonly<Record<string, string>> = {}): TestFolder {
  const base = temporaryFolder();
  const root = join(base, "project");
  mkdirSync(root);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return { root, data: join(base, "data") };
}

/** Serves a coding agent that works in a folder, and returns a client of it. */
export function serveCoder(
  { root, data }: TestFolder,
  { serve = {}, ...options }: Partial<CoderOptions> & { serve?: Partial<ServeOptions> } = {},
): Promise<CoderClient> {
  const agent = coder({ workspace: root, ...options });
  return coderClient(agent, {
    openBackend: () => openAgentData(agent, { data, logger: memoryLogger() }),
    ...serve,
  });
}

/** The same as a process that can be stopped, so that another one continues on its data. */
export async function startCoder(
  { root, data, database }: TestFolder,
  options: Partial<CoderOptions> = {},
): Promise<{ readonly client: CoderClient; close(): Promise<void> }> {
  const agent = coder({ workspace: root, ...options });
  const logger = memoryLogger();
  const openBackend = () => openAgentData(agent, { data, database, logger });
  const server = await serve(agent, { port: 0, host: "127.0.0.1", logger, openBackend });
  onTestFinished(() => server.close());
  return {
    client: new CoderClient(server.url.replace(/\/$/, "")),
    close: () => server.close(),
  };
}

/** A message in a conversation. */
export function inContext(contextId: string, text: string): Partial<Message> {
  return { contextId, parts: [{ kind: "text", text }] };
}
