import { once } from "node:events";
import { createJsonLogger } from "@convoke/engine";
import { serve } from "../../serve-agent.ts";
import type { CommandIo } from "../command.ts";
import { banner } from "./banner.ts";
import { loadAgent } from "./load-agent.ts";
import { type ServeSettings, readSettings } from "./settings.ts";
import { explainStart } from "./start-error.ts";

export interface ServeRequest {
  readonly file: string | undefined;
  readonly port: string | undefined;
  readonly data: string | undefined;
  readonly io: CommandIo;
}

/** Starts the server, says where it is, and resolves when it has stopped. */
export async function runServer({ file, port, data, io }: ServeRequest): Promise<void> {
  const settings = readSettings({ port, data }, io.env);
  const agent = await loadAgent(file);
  const server = await start(agent, settings, io);
  io.stdout(
    banner({
      name: agent.info.name,
      url: server.url,
      data: settings.data,
      recovered: server.recovered,
      isDemo: file === undefined,
      needsToken: settings.token !== undefined,
    }),
  );
  if (!io.signal.aborted) await once(io.signal, "abort");
  await server.close({ drainMs: settings.drainMs });
}

async function start(
  agent: Awaited<ReturnType<typeof loadAgent>>,
  settings: ServeSettings,
  io: CommandIo,
) {
  const { logLevel, drainMs: _, ...options } = settings;
  try {
    return await serve(agent, {
      ...options,
      logger: createJsonLogger(logLevel, io.stderr),
      onFatal: (error) => {
        const cause = error.message.replace(/\.$/, "");
        io.stderr(
          `${cause}, so this server stops too; what it answered is kept. Start it again.\n`,
        );
        process.exit(1);
      },
    });
  } catch (error) {
    throw explainStart(error, settings);
  }
}
