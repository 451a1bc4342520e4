import { DataFolderBusyError, DataFolderError } from "@convoke/backends/sqlite";
import { ModelError } from "@convoke/runtime";
import { KeyFileError, StoredAgentsError } from "@convoke/server";
import { randomBytes } from "node:crypto";
import { quoted } from "../terminal/command-line.ts";
import { isDatabaseError } from "../terminal/database-url.ts";
import type { Invocation } from "../terminal/invocation.ts";
import { StartError } from "./config.ts";

/** What a user gave on the command line, for hints that can be copied. */
export interface ServeFlags {
  /** The command that serves, for hints. Default `serve`. */
  readonly command?: "serve" | "dev" | "code" | "console";
  /** The files and folders of the agents. */
  readonly files?: readonly string[];
  /** The command lines of programs that are agents. */
  readonly processes?: readonly string[];
  readonly port?: string | undefined;
  readonly data?: string | undefined;
  readonly database?: string | undefined;
  /** Set if the tables of the database must not be changed. */
  readonly noMigrate?: true | undefined;
  /** Set if every completed status repeats the answer. */
  readonly finalMessage?: true | undefined;
  /** Set if agents that are stored were taken over. */
  readonly storedAgentsTakenOver?: true | undefined;
  /** How the program was started, for hints. */
  readonly started?: Invocation | undefined;
}

/** The command line that starts the same server with other settings; `asStarted` names the program. */
function startLine(flags: ServeFlags, change: { env?: string; port?: number }): string {
  const { command = "serve", files = [], processes = [], data, started } = flags;
  const port = change.port === undefined ? flags.port : String(change.port);
  const env = change.env === undefined ? "" : `${change.env} `;
  // The last flag counts, so a script that sets the port itself is corrected too.
  const more = change.port === undefined ? "" : ` -- --port ${change.port}`;
  if (started?.script !== undefined) return `${env}${started.script}${more}`;
  const words = [
    command,
    ...files,
    ...processes.flatMap((line) => ["--process", line]),
    ...(port === undefined ? [] : ["--port", port]),
    ...(data === undefined ? [] : ["--data", data]),
  ];
  return `${env}convoke ${words.map(quoted).join(" ")}`;
}

/** A server that is reachable from outside must authenticate its callers. The suggested line can be copied. */
export function openToTheWorld(host: string, flags: ServeFlags): StartError {
  const token = randomBytes(24).toString("base64url");
  const line = startLine(flags, { env: `CONVOKE_TOKEN=${token} BIND_HOST=${host}` });
  return new StartError(
    `This server would be reachable from outside on ${host}, so it needs a token (or CONVOKE_API_KEYS, or CONVOKE_JWT_ISSUER and CONVOKE_JWT_AUDIENCE). Try: ${line}`,
  );
}

/** Explains why the server did not start. Unexpected errors are rethrown. */
export function explainStart(
  error: unknown,
  { port, host }: { readonly port: number; readonly host: string },
  flags: ServeFlags,
): StartError {
  if (error instanceof StartError) return error;
  if (error instanceof DataFolderError) {
    const mayPass = error instanceof DataFolderBusyError || isPassing(error.cause);
    return new StartError(error.message, { mayPass });
  }
  if (isDatabaseError(error)) {
    return new StartError(`${error.message}.`, { mayPass: isOutage(error.cause) });
  }
  if (error instanceof KeyFileError) return new StartError(`API keys: ${error.message}.`);
  if (error instanceof StoredAgentsError) return new StartError(storedAgents(error));
  if (error instanceof ModelError) return new StartError(asSentence(error.message));
  const { code } = error as NodeJS.ErrnoException;
  switch (code) {
    case "EADDRINUSE":
      return new StartError(
        `Port ${port} is in use. Try: ${startLine(flags, { port: port === 65_535 ? 0 : port + 1 })}`,
        { mayPass: true },
      );
    case "EACCES":
      return new StartError(
        `You are not allowed to listen on port ${port}. Try: ${startLine(flags, { port: 3000 })}`,
      );
    case "EADDRNOTAVAIL":
    case "EAFNOSUPPORT":
    case "EAI_AGAIN":
    case "EINVAL":
    case "ENOTFOUND":
      return new StartError(
        `BIND_HOST ${host} is not an address of this machine. Try: ${startLine(flags, { env: "BIND_HOST=127.0.0.1" })}`,
        // The name server did not answer.
        { mayPass: code === "EAI_AGAIN" },
      );
    default:
      throw error;
  }
}

/** A full or failing disk, too many open files, or a lock. */
const PASSING = ["ENOSPC", "EDQUOT", "EIO", "EBUSY", "EMFILE", "ENFILE"];

/** SQLITE_BUSY, SQLITE_IOERR and SQLITE_FULL. */
const PASSING_SQLITE = [5, 10, 13];

function isPassing(cause: unknown): boolean {
  const { code = "", errcode = 0 } = (cause ?? {}) as NodeJS.ErrnoException & { errcode?: number };
  return PASSING.includes(code) || PASSING_SQLITE.includes(errcode & 0xff);
}

/** Whether a database did not answer, as opposed to an answer that stays: no such user, database or table. */
function isOutage(cause: unknown): boolean {
  return cause !== undefined && !/^(?:28|3D|42)/.test((cause as NodeJS.ErrnoException).code ?? "");
}

/** Names the flag instead of the option, and where the agents of a command line are defined. */
function storedAgents({ message }: StoredAgentsError): string {
  return asSentence(
    message
      .replace("into the agents that you serve", "into convoke.config.ts")
      .replace("set storedAgentsTakenOver: true", "start once with --stored-agents-taken-over"),
  );
}

function asSentence(problem: string): string {
  return `${problem.charAt(0).toUpperCase()}${problem.slice(1)}.`;
}

/** Explains why a server stops whose storage has failed. The database is intact unless the folder is at fault. */
export function explainFatal(error: Error): string {
  if (error instanceof DataFolderError) return `${error.message} This server stops.`;
  const cause = error.message.replace(/\.$/, "");
  return `${cause}, so this server stops. All responses sent so far are stored. Start it again.`;
}
