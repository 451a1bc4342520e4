import { ClientError, ERRORS, RemoteError } from "@convoke/protocol";
import { printable, printableJson } from "@convoke/protocol/internal";
import { asStarted } from "../terminal/invocation.ts";
import { coloursFor } from "../terminal/output.ts";
import { type CommandContext, EXIT, Interrupted } from "../terminal/command.ts";
import { isDatabaseError } from "../terminal/database-url.ts";
import { withheldVariable } from "../credentials/environment.ts";

type ErrorContext = Pick<CommandContext, "io" | "flag" | "positionals">;

/**
 * Prints what went wrong between us and the agent and what to do about it, and returns the exit
 * code. Other errors are bugs of ours and are rethrown.
 */
export function explainError(error: unknown, place: ErrorContext): number {
  const { io } = place;
  if (io.signal.aborted || error instanceof Interrupted) return EXIT.interrupted.code;
  const sentence = sentenceOf(error);
  const advice = asStarted(adviceFor(error, place), io.started);
  if (place.flag("json")) {
    io.stderr(`${printableJson({ error: { ...factsOf(error), ...(advice && { advice }) } })}\n`);
  } else {
    const below = advice === "" ? "" : `${advice}\n`;
    io.stderr(`${coloursFor(io, "stderr").red(printable(sentence))}\n${below}`);
  }
  const isBad = error instanceof ClientError && error.kind === "bad-signature";
  return isBad ? EXIT.taskFailed.code : EXIT.noAnswer.code;
}

function sentenceOf(error: unknown): string {
  if (error instanceof RemoteError) {
    const code = error.code === undefined ? "" : ` (code ${error.code})`;
    return `The agent answered with an error: ${error.message}${code}`;
  }
  if (isDatabaseError(error)) return `${error.message}.`;
  if (!(error instanceof ClientError)) throw error;
  return `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}`;
}

/** The error as JSON, without absent fields. */
function factsOf(error: unknown): Readonly<Record<string, unknown>> {
  if (error instanceof RemoteError) {
    const { message, code, reason, data, httpStatus, retryAfterMs } = error;
    return { kind: "remote", message, code, reason, httpStatus, retryAfterMs, data };
  }
  if (isDatabaseError(error)) return { kind: "database", message: error.message };
  const { kind, message } = error as ClientError;
  return { kind, message };
}

function adviceFor(error: unknown, place: ErrorContext): string {
  if (error instanceof RemoteError) {
    const { code, httpStatus } = error;
    if (httpStatus === 401 || httpStatus === 403) return credentialsAdvice(place);
    return code === ERRORS.TaskNotFound.code ? NO_TASK : "";
  }
  if (isDatabaseError(error)) return "";
  const { kind, message } = error as ClientError;
  if (kind === "no-card" && /answered 40[13]\b/.test(message)) return credentialsAdvice(place);
  if (kind === "bad-signature" && message.includes("trustedKeys")) return TRUST_KEY;
  return ADVICE[kind] ?? "";
}

function credentialsAdvice({ io, positionals }: ErrorContext): string {
  const [url = ""] = positionals;
  if (!URL.canParse(url)) return "The agent requires credentials.";
  const { origin } = new URL(url);
  const name = withheldVariable(io.env, url);
  const withheld =
    name === undefined
      ? ""
      : ` ${name} was not sent: it is only for this machine, unless you set CONVOKE_URL=${origin}.`;
  return `The agent requires credentials: sign in or store a token with convoke login ${origin}, or use --token, --api-key or --basic.${withheld}`;
}

const NO_TASK = "convoke tasks <url> lists your tasks.";

const TRUST_KEY =
  "--trust-key <file> names the keys that you trust; a Convoke server publishes its own at /.well-known/jwks.json.";

const ADVICE: Partial<Readonly<Record<string, string>>> = {
  unreachable: "Is the agent running, and is this its address? convoke serve starts one.",
  "no-card": "The address must be that of an agent or of its card.",
  "no-interface": "convoke card <url> shows what it offers.",
  refused: "--allow <host> permits a private address that the card leads to, if you trust it.",
  "other-origin": "If you trust that address, use it instead.",
  "sign-in":
    "convoke login <url> signs you in. For a program, set CONVOKE_CLIENT_ID, CONVOKE_CLIENT_SECRET and CONVOKE_ISSUER, and CONVOKE_URL for another machine.",
};
