import { type Command, type CommandContext, type CommandIo, EXIT } from "../terminal/command.ts";
import type { ServeRequest } from "../host/run-server.ts";
import { asStarted } from "../terminal/invocation.ts";

/** The environment variables of `convoke serve`, which host/settings.ts reads. */
export const SERVE_ENVIRONMENT: Readonly<Record<string, string>> = {
  PORT: "The port to listen on (3000)",
  BIND_HOST:
    "The address to listen on; any other than loopback requires authentication (127.0.0.1)",
  PUBLIC_URL: "The public address of the server, for its card",
  CONVOKE_DATA: 'The folder for tasks, or "memory" (.convoke/<agent id>)',
  DATABASE_URL: "A Postgres database for tasks, which any number of servers share",
  CONVOKE_HOST_ID: "Identifies the machine, for agents that use its disk (its host name)",
  CONVOKE_NO_MIGRATE: "1 if the tables of the database must not be created or changed (0)",
  CONVOKE_TOKEN: "The bearer token that callers must send",
  CONVOKE_API_KEYS:
    'File with the API keys of callers, or "database"; create one with convoke keys create',
  CONVOKE_JWT_ISSUER: "URL of the issuer whose tokens callers may send (OpenID Connect)",
  CONVOKE_JWT_AUDIENCE: "What these tokens must be for; required with CONVOKE_JWT_ISSUER",
  CONVOKE_ALLOWED_HOSTS: "Host names of this server in addition to localhost, separated by commas",
  CONVOKE_CORS_ORIGINS: "Origins of web pages that may call, separated by commas; * for all",
  CONVOKE_LIMITS: "Limits for callers and agents, for example parts=10,openTasks=5",
  CONVOKE_RATE_LIMIT: "Requests of each caller, for example write=100/min,login=off",
  CONVOKE_METRICS: "1 to serve /metrics, 0 not to (1 on loopback)",
  CONVOKE_CONSOLE: "1 to serve the web console, 0 not to (1 on loopback)",
  CONVOKE_READ_API:
    "1 to serve the read API: logs of tasks, the feed and more; 0 not to (1 on loopback)",
  CONVOKE_AGENT_API:
    "1 to let operators list, disable and enable agents, 0 not to (1 if callers authenticate, and on loopback)",
  CONVOKE_KEEP_DAYS: "Days to keep a finished task (30)",
  CONVOKE_KEEP_TASKS: "Number of finished tasks to keep (100000, or 1000 in memory)",
  CONVOKE_FILES: "Folder or s3://bucket/prefix for large files (next to the tasks)",
  CONVOKE_FILES_ABOVE: "Bytes above which a file is kept outside of the log, 0 for never (65536)",
  CONVOKE_FILES_SHOW: "links: callers get large files as links instead of bytes (inline)",
  CONVOKE_FILES_INLINE: "Bytes up to which callers get files as bytes (10485760)",
  AWS_ACCESS_KEY_ID: "Access key of the bucket in CONVOKE_FILES, with AWS_SECRET_ACCESS_KEY",
  AWS_SECRET_ACCESS_KEY: "Its secret; AWS_SESSION_TOKEN for temporary credentials",
  AWS_REGION: "Region of the bucket (us-east-1)",
  AWS_ENDPOINT_URL_S3: "Address of another object store than that of AWS",
  CONVOKE_PUSH_ALLOW:
    "Private hosts and networks that push notifications may reach, separated by commas",
  CONVOKE_PUSH_SECRET: "Secret that signs push notifications (Standard Webhooks)",
  CONVOKE_REGISTRY: "1 to serve a registry of agents (0)",
  CONVOKE_REGISTRY_ALLOW:
    "Private hosts and networks whose agents can be registered, separated by commas",
  CONVOKE_CARD_KEY: "Key file that signs the card; create one with convoke keys card",
  CONVOKE_CARD_FORM: "The format of the card: negotiated, hybrid, v1 or v03 (negotiated)",
  CONVOKE_CARD_BINDINGS: "Bindings on the card in order of preference (JSONRPC,HTTP+JSON,GRPC)",
  CONVOKE_GRPC_URL: "The gRPC address on the card, if it differs from that of the server",
  CONVOKE_EXTENDED_CARD: "JSON file with card fields for callers that send the token",
  CONVOKE_STREAMING: "0 if clients cannot stream answers (1)",
  CONVOKE_FINAL_MESSAGE:
    "1 to repeat each answer in the last status, for clients that read only it (0)",
  CONVOKE_STRICT: "1 to accept only the forms of the specification (0)",
  CONVOKE_TRUST_PROXY: "1 if a proxy in front sets Forwarded or X-Forwarded-*",
  CONVOKE_IDEMPOTENCY: "always: a repeated messageId is a retry for every caller",
  CONVOKE_DRAIN_MS: "How long running tasks may take to finish on shutdown (10000)",
  CONVOKE_LOG: "Log level: debug, info, warn, error or silent (warn)",
  CONVOKE_LOG_FORMAT: "pretty, json, or auto: pretty on a terminal, json elsewhere (auto)",
};

/** The options of `convoke serve` and `convoke dev`. */
export const SERVE_OPTIONS: Command["options"] = {
  port: {
    type: "string",
    value: "<number>",
    help: "The port to listen on; 0 picks a free one (PORT, 3000)",
  },
  data: {
    type: "string",
    value: "<folder>",
    help: 'The folder for tasks, or "memory" (CONVOKE_DATA, .convoke/<agent id> or .convoke/host)',
  },
  database: {
    type: "string",
    value: "<address>",
    help: "A Postgres database for tasks, which any number of servers share (DATABASE_URL)",
  },
  config: {
    type: "string",
    value: "<file>",
    help: "The file with settings that are code (convoke.config.ts, if there is one)",
  },
  "final-message": {
    type: "boolean",
    help: "Repeat each answer in the last status, for clients that read only it (CONVOKE_FINAL_MESSAGE)",
  },
  "stored-agents-taken-over": {
    type: "boolean",
    help: "The agents include those that convoke agents stored prints; needed once",
  },
};

export const serveCommand: Command = {
  name: "serve",
  summary: "Serve one or several agents, or the built-in demo",
  usage: "[file or folder ...] [options]",
  examples: [
    "convoke serve",
    "convoke serve agent.ts --port 4000",
    "convoke serve agent.ts --data /var/lib/my-agent",
    "convoke serve greeter.ts poet.ts",
    "convoke serve agent.ts --database postgres://convoke@db/convoke",
    "convoke serve agents/",
    'convoke serve --process "gemini --acp"',
    "CONVOKE_TOKEN=secret BIND_HOST=0.0.0.0 convoke serve agent.ts",
  ],
  options: {
    ...SERVE_OPTIONS,
    "no-migrate": {
      type: "boolean",
      help: "Do not create or change tables of the database (CONVOKE_NO_MIGRATE)",
    },
    process: {
      type: "string",
      value: "<command>",
      multiple: true,
      help: "A program that speaks ACP or JSON lines, as an agent; can be repeated",
    },
  },
  environment: SERVE_ENVIRONMENT,
  more: `Several agents share the port: each is at /agents/<id>, and the first one also at the root. Of a
folder every .ts or .js file is an agent, except tests and files whose names begin with a dot. The
agents of convoke.config.ts are served, too. A program of --process runs in the current folder and
is named after itself; it speaks ACP if a word of its command is or contains "acp".

These variables, and those of your agent, can also be in a file .env in the current folder;
variables that are already set take precedence.

To reload whenever a source changes: convoke dev agent.ts`,
  run: serve,
};

/** Serves until it is stopped by a signal. */
async function serve(context: CommandContext): Promise<number> {
  const { io, positionals, texts } = context;
  const processes = texts("process");
  const request = { files: positionals, processes, ...readServeOptions(context) };
  // Loaded on demand, so that other commands start faster.
  const { runServer } = await import("../host/run-server.ts");
  return orNotStarted(io, () => runServer(request));
}

/** The options of a server on the command line. */
export function readServeOptions({ io, text, flag }: CommandContext): Omit<ServeRequest, "files"> {
  return {
    port: text("port"),
    data: text("data"),
    database: text("database"),
    noMigrate: flag("no-migrate") ? true : undefined,
    finalMessage: flag("final-message") ? true : undefined,
    storedAgentsTakenOver: flag("stored-agents-taken-over") ? true : undefined,
    config: text("config"),
    io,
  };
}

/** Runs a server. If it cannot start, the reason is printed. Returns the exit code. */
export async function orNotStarted(
  io: CommandIo,
  run: () => Promise<number | void>,
): Promise<number> {
  const { StartError } = await import("../host/config.ts");
  try {
    return (await run()) ?? EXIT.done.code;
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    io.stderr(`${asStarted(error.message, io.started)}\n`);
    return error.mayPass ? EXIT.notStartedNow.code : EXIT.notStarted.code;
  }
}
