import { ClientError, RemoteError } from "@convoke/client";
import { ERRORS } from "@convoke/protocol";
import type { CommandIo } from "./command.ts";
import { coloursFor } from "./colours.ts";
import { EXIT } from "./exit-code.ts";
import { printable } from "./printable.ts";

/**
 * Says what went wrong between us and an agent and what to do about it, and
 * gives the exit code. Anything else is a mistake of ours and is thrown on.
 */
export function explainError(error: unknown, io: CommandIo): number {
  if (io.signal.aborted) return EXIT.interrupted.code;
  const [sentence, advice] = describe(error);
  io.stderr(`${coloursFor(io, "stderr").red(printable(sentence))}\n${advice}`);
  return EXIT.noAnswer.code;
}

function describe(error: unknown): readonly [sentence: string, advice: string] {
  if (error instanceof RemoteError) {
    const code = error.code === undefined ? "" : ` (code ${error.code})`;
    return [`The agent answered with an error: ${error.message}${code}`, adviceFor(error)];
  }
  if (error instanceof ClientError) {
    const sentence = `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}`;
    return [sentence, error.kind === "unreachable" ? UNREACHABLE : ""];
  }
  throw error;
}

function adviceFor({ code, httpStatus }: RemoteError): string {
  if (httpStatus === 401 || httpStatus === 403) return TOKEN;
  return code === ERRORS.TaskNotFound.code ? NO_TASK : "";
}

const TOKEN = "It wants to know who you are: pass --token <token>, or set CONVOKE_TOKEN.\n";
const NO_TASK = "convoke tasks <url> lists the tasks that you have there.\n";
const UNREACHABLE = "Is the agent running, and is this its address? convoke serve starts one.\n";
