import { once } from "node:events";
import { createJsonLogger } from "@convoke/engine";
import type { Agent } from "@convoke/protocol";
import { type AgentServer, serve } from "./serve-agent.ts";
import type { CommandIo } from "../terminal/command.ts";
import { loadAgent } from "./load-agent.ts";
import { type ServeSettings, explainFatal, explainStart, readSettings } from "./settings.ts";
import { relative, resolve } from "node:path";
import { oneLine } from "@convoke/protocol/internal";
import { isLoopback } from "../credentials/environment.ts";

export interface ServeRequest {
  readonly file: string | undefined;
  readonly port: string | undefined;
  readonly data: string | undefined;
  readonly io: CommandIo;
}

/** Starts the server, prints its address, and resolves when it has stopped. */
export async function runServer({ file, port, data, io }: ServeRequest): Promise<void> {
  const settings = readSettings({ port, data }, io.env);
  const agent = await loadAgent(file);
  const server = await start({ agent, file, settings, io });
  io.stdout(
    banner({
      name: agent.info.name,
      url: server.url,
      folder: server.folder,
      recovered: server.recovered,
      isDemo: file === undefined,
      needsToken: settings.token !== undefined,
    }),
  );
  if (!io.signal.aborted) await once(io.signal, "abort");
  await server.close({ drainMs: settings.drainMs });
}

interface Start {
  readonly agent: Agent;
  readonly file: string | undefined;
  readonly settings: ServeSettings;
  readonly io: CommandIo;
}

async function start({ agent, file, settings, io }: Start): Promise<AgentServer> {
  const { logLevel, drainMs: _, ...options } = settings;
  try {
    return await serve(agent, {
      ...options,
      ...(file !== undefined && { source: resolve(file) }),
      logger: createJsonLogger(logLevel, io.stderr),
      onFatal: (error) => {
        io.stderr(`${explainFatal(error)}\n`);
        process.exit(1);
      },
    });
  } catch (error) {
    throw explainStart(error, settings);
  }
}

/** The text that is printed when the server is ready: its address and what to try next. */
function banner(facts: {
  readonly name: string;
  readonly url: string;
  /** Absent if nothing is stored on disk. */
  readonly folder: string | undefined;
  /** What happened to the unfinished tasks of the last run. */
  readonly recovered: AgentServer["recovered"];
  readonly isDemo: boolean;
  readonly needsToken: boolean;
}): string {
  const { name, url, folder, recovered, isDemo, needsToken } = facts;
  const base = url.replace(/\/$/, "");
  const path = folder === undefined ? undefined : relative(process.cwd(), folder) || ".";
  const where = path === undefined ? "in memory, lost when the server stops" : `${path} (SQLite)`;
  // CONVOKE_TOKEN is sent only to this machine and to CONVOKE_URL.
  const place = isLoopback(url) ? "" : `CONVOKE_URL=${base} `;
  const token = needsToken ? `CONVOKE_TOKEN=… ${place}` : "";
  const tries = isDemo
    ? ['stream URL "slow 20"', "send URL ask", "tasks URL"]
    : ['stream URL "Hello"', "tasks URL"];
  const { others, ...own } = recovered;
  const earlier = Object.entries(own).filter(([, count]) => count > 0);
  const told = earlier.map(([fate, count]) => `${count} ${fate}`).join(", ");
  const left = told === "" ? "" : `  Earlier  unfinished tasks: ${told}\n`;
  const foreign = others.map(
    ({ agent, agentId, tasks }) =>
      `  Others   ${tasks} unfinished of the agent ${oneLine(agent, 60)}, left alone. To end them, stop this server and run:
           npx convoke tasks end --data ${path} --agent ${agentId}\n`,
  );
  return `${name} is ready.

  Card     ${base}/.well-known/agent-card.json
  Tasks    ${where}
${left}${foreign.join("")}
Try in another terminal:

${tries.map((line) => `  ${token}npx convoke ${line.replace("URL", base)}`).join("\n")}

Press Ctrl+C to stop.
`;
}
