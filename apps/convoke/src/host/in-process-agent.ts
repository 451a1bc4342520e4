import { type RemoteAgent, connect } from "@convoke/client";
import type { Agent } from "@convoke/protocol";
import { resolve } from "node:path";
import type { CommandIo } from "../terminal/command.ts";
import { loadAgent } from "./load-agent.ts";
import { createLogger, mount } from "./serve-agent.ts";
import { loadEnvFile, readSettings } from "./settings.ts";
import { explainFatal, explainStart } from "./start-problems.ts";

/** An agent that runs in this process. */
export interface InProcessAgent {
  readonly agent: Agent;
  readonly connect: () => Promise<RemoteAgent>;
  /**
   * A request to a route of the server that is not part of A2A, as the caller that `connect` is. A
   * body makes it a POST.
   */
  readonly ask: (path: string, body?: object) => Promise<unknown>;
  /** Stops running tasks, which resume at the next start, and closes the storage. */
  readonly close: () => Promise<void>;
}

interface InProcessOptions {
  /** The agent, or the file that exports it. */
  readonly agent: Agent | string;
  /** The folder for its tasks. */
  readonly data: string | undefined;
  readonly io: CommandIo;
}

/** A placeholder address; nothing listens there. */
const URL_IN_PROCESS = "http://127.0.0.1/";

/** Runs an agent like `convoke serve`, but without a port. */
export async function openInProcess(
  { agent: given, data, io }: InProcessOptions,
  extensions: readonly string[],
): Promise<InProcessAgent> {
  const file = typeof given === "string" ? given : undefined;
  // That of another folder may belong to the workspace of a coding agent.
  if (file !== undefined) loadEnvFile();
  // Nothing listens, so settings for ports, addresses and other callers do not apply.
  const unused = ["PORT", "BIND_HOST", "PUBLIC_URL", "CONVOKE_API_KEYS"];
  const used = Object.entries(io.env).filter(
    ([name]) => !unused.includes(name) && !name.startsWith("CONVOKE_JWT_"),
  );
  const env: CommandIo["env"] = Object.fromEntries(used);
  // The owner of tasks is derived from the token, as on a server.
  const token = env["CONVOKE_TOKEN"] || undefined;
  const flags = { file, data, started: io.started };
  const settings = readSettings(flags, env);
  const { logLevel, logFormat, drainMs: _drainMs, ...options } = settings;
  const agent = typeof given === "string" ? await loadAgent(given) : given;
  const mounted = await mount(agent, {
    ...options,
    ...(file !== undefined && { source: resolve(file) }),
    publicUrl: URL_IN_PROCESS,
    // The log of a host is read by people, but the format is the one that its other servers use.
    logger: createLogger({ level: logLevel, isForPeople: logFormat === "pretty" }, io.stderr),
    onFatal: (error) => {
      io.stderr(`${explainFatal(error)}\n`);
      process.exit(1);
    },
  }).catch((error: unknown) => {
    throw explainStart(error, settings, flags);
  });
  const headers = {
    "Content-Type": "application/json",
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
  };
  return {
    agent,
    connect: () =>
      connect(URL_IN_PROCESS, {
        token,
        extensions,
        cache: false,
        fetch: (input, init) => mounted.fetch(new Request(input, init)),
      }),
    ask: async (path, body) => {
      const post = body !== undefined && { method: "POST", body: JSON.stringify(body) };
      const url = new URL(path, URL_IN_PROCESS);
      const response = await mounted.fetch(new Request(url, { headers, ...post }));
      if (!response.ok) throw new Error(`${path} answered with HTTP ${response.status}`);
      return response.json();
    },
    close: () => mounted.close(),
  };
}
