import type { Command, CommandContext } from "./command.ts";
import { EXIT } from "./exit-code.ts";
import { SERVE_ENVIRONMENT } from "./serve/environment.ts";

export const serveCommand: Command = {
  name: "serve",
  summary: "Serve an agent, or the built-in demo",
  usage: "[file] [options]",
  examples: [
    "convoke serve",
    "convoke serve agent.ts --port 4000",
    "convoke serve agent.ts --data /var/lib/my-agent",
    "CONVOKE_TOKEN=secret BIND_HOST=0.0.0.0 convoke serve agent.ts",
  ],
  options: {
    port: {
      type: "string",
      value: "<number>",
      help: "Where to listen; 0 picks a free port (PORT, 3000)",
    },
    data: {
      type: "string",
      value: "<folder>",
      help: 'Where tasks are kept, or "memory" (CONVOKE_DATA, .convoke)',
    },
  },
  environment: SERVE_ENVIRONMENT,
  run: serve,
};

/** Serves until it is told to stop. */
async function serve(context: CommandContext): Promise<number> {
  const { io, positionals } = context;
  // The other commands do not pay for loading a server.
  const { runServer } = await import("./serve/run-server.ts");
  const { StartError } = await import("./serve/start-error.ts");
  try {
    await runServer({
      file: positionals[0],
      port: context.text("port"),
      data: context.text("data"),
      io,
    });
    return EXIT.done.code;
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    io.stderr(`${error.message}\n`);
    return EXIT.notStarted.code;
  }
}
