import { type Command, type CommandContext, EXIT } from "../terminal/command.ts";

/** What `convoke serve --help` says of the environment; the settings read it. */
const SERVE_ENVIRONMENT: Readonly<Record<string, string>> = {
  PORT: "Where to listen (3000)",
  BIND_HOST: "The address to listen on; others than loopback need a token (127.0.0.1)",
  PUBLIC_URL: "The address that the card names",
  CONVOKE_DATA: 'Where tasks are kept, or "memory" (.convoke)',
  CONVOKE_TOKEN: "The bearer token that callers must send",
  CONVOKE_ALLOWED_HOSTS: "Names besides localhost of this server, separated by commas",
  CONVOKE_CORS_ORIGINS: "Origins of web pages that may call, separated by commas; * is every page",
  CONVOKE_LIMITS: "What callers and agents may use at most, as in parts=10,openTasks=5",
  CONVOKE_KEEP_DAYS: "For how many days an ended task is kept (30)",
  CONVOKE_KEEP_TASKS: "How many ended tasks are kept (100000, and 1000 in memory)",
  CONVOKE_PUSH_ALLOW: "Private hosts and networks that pushes may reach, separated by commas",
  CONVOKE_PUSH_SECRET: "Signs pushes, as Standard Webhooks has it",
  CONVOKE_CARD_KEY: "A key file that signs the card, from convoke keys card",
  CONVOKE_TRUST_PROXY: "1 where a proxy in front sets Forwarded or X-Forwarded-*",
  CONVOKE_DRAIN_MS: "How long work under way may take to finish at the end (10000)",
  CONVOKE_LOG: "debug, info, warn, error or silent (warn)",
};

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
  const { runServer } = await import("../host/run-server.ts");
  const { StartError } = await import("../host/settings.ts");
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
