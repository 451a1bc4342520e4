import { ClientError, ERRORS, RemoteError } from "@convoke/protocol";
import { printable } from "@convoke/protocol/internal";
import { coloursFor } from "../terminal/output.ts";
import { type CommandContext, EXIT, Interrupted } from "../terminal/command.ts";
import { isWithheld } from "../credentials/environment.ts";

type Place = Pick<CommandContext, "io" | "flag" | "positionals">;

/**
 * Says what went wrong between us and an agent and what to do about it, and
 * gives the exit code. Anything else is a mistake of ours and is thrown on.
 */
export function explainError(error: unknown, place: Place): number {
  const { io } = place;
  if (io.signal.aborted || error instanceof Interrupted) return EXIT.interrupted.code;
  const sentence = sentenceOf(error);
  const advice = adviceFor(error, place);
  if (place.flag("json")) {
    io.stderr(`${JSON.stringify({ error: { ...factsOf(error), ...(advice && { advice }) } })}\n`);
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
  if (!(error instanceof ClientError)) throw error;
  return `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}`;
}

/** The same for programs: what is not there is left out. */
function factsOf(error: unknown): Readonly<Record<string, unknown>> {
  if (error instanceof RemoteError) {
    const { message, code, reason, data, httpStatus, retryAfterMs } = error;
    return { kind: "remote", message, code, reason, httpStatus, retryAfterMs, data };
  }
  const { kind, message } = error as ClientError;
  return { kind, message };
}

function adviceFor(error: unknown, place: Place): string {
  if (error instanceof RemoteError) {
    const { code, httpStatus } = error;
    if (httpStatus === 401 || httpStatus === 403) return whoYouAre(place);
    return code === ERRORS.TaskNotFound.code ? NO_TASK : "";
  }
  const { kind, message } = error as ClientError;
  if (kind === "no-card" && /answered 40[13]\b/.test(message)) return whoYouAre(place);
  if (kind === "bad-signature" && message.includes("trustedKeys")) return TRUST_KEY;
  return ADVICE[kind] ?? "";
}

function whoYouAre({ io, positionals }: Place): string {
  const [url = ""] = positionals;
  if (!URL.canParse(url)) return "It wants to know who you are.";
  const { origin } = new URL(url);
  const withheld = isWithheld(io.env, url)
    ? ` CONVOKE_TOKEN was not sent: it is for this machine, unless you set CONVOKE_URL=${origin}.`
    : "";
  return `It wants to know who you are: convoke login ${origin} stores a token, --token, --api-key and --basic give one.${withheld}`;
}

const NO_TASK = "convoke tasks <url> lists the tasks that you have there.";

const TRUST_KEY =
  "--trust-key <file> says which keys you trust; a Convoke server shows its own at /.well-known/jwks.json.";

const ADVICE: Partial<Readonly<Record<string, string>>> = {
  unreachable: "Is the agent running, and is this its address? convoke serve starts one.",
  "no-card": "The address must be that of an agent, or of its card.",
  "no-interface": "convoke card <url> shows what it offers.",
  "other-origin": "If you trust that address, type it instead of this one.",
};
