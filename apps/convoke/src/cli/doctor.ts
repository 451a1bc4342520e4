import { existsSync } from "node:fs";
import {
  AGENT_ENVIRONMENT,
  AUTH_OPTIONS,
  readOrigin,
  readUrl,
  rejectMoreArguments,
} from "../connect/agent-options.ts";
import { readAuthHeaders } from "../connect/auth.ts";
import { readAllow } from "../connect/connect-options.ts";
import { DEFAULT_EXAMINATION, examineAgent } from "../doctor/examine-agent.ts";
import { examineMachine } from "../doctor/examine-machine.ts";
import { printFindings, withProgress } from "../doctor/report.ts";
import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";

export const doctorCommand: Command = {
  name: "doctor",
  summary: "Explain what is wrong with an agent and its deployment, or with this machine",
  usage: "[<url> | <file>] [options]",
  examples: [
    "convoke doctor",
    "convoke doctor agent.ts",
    "convoke doctor http://127.0.0.1:3000",
    'convoke doctor https://agent.example --slow "Write a long report" --origin https://app.example',
    "convoke doctor https://agent.example --token secret --json",
  ],
  options: {
    message: {
      type: "string",
      value: "<text>",
      help: 'The message that is sent to examine streaming (default: "hello")',
    },
    slow: {
      type: "string",
      value: "<text>",
      help: "A message that keeps the agent busy, to find proxies that buffer or cut streams",
    },
    "no-send": { type: "boolean", help: "Send no message, so that the agent does no work" },
    origin: {
      type: "string",
      value: "<origin>",
      help: "Examine whether pages of this origin may call the agent (CORS)",
    },
    body: {
      type: "string",
      value: "<bytes>",
      help: "The size of a request that must get through (default: 65536)",
    },
    timeout: {
      type: "string",
      value: "<seconds>",
      help: "Time limit of each request (default: 10)",
    },
    allow: {
      type: "string",
      value: "<host>",
      multiple: true,
      help: "Private host, host:port or network that the card may lead to; can be repeated",
    },
    ...AUTH_OPTIONS,
    json: { type: "boolean", help: "Print JSON instead of text" },
  },
  environment: AGENT_ENVIRONMENT,
  more: `Without an address it looks at this machine and the current folder. With the file of an agent, it
also starts that agent for a moment and looks for the key of its model.

The exit code is 0 without problems, 1 with problems, and 3 if the agent could not be examined.`,
  run: doctor,
};

async function doctor(context: CommandContext): Promise<number> {
  rejectMoreArguments(context);
  const [place] = context.positionals;
  const isAgent = place !== undefined && /^\w+:\/\//.test(place);
  if (isAgent) return doctorAgent(context);
  if (place === undefined || existsSync(place)) return doctorMachine(context, place);
  throw new UsageError(
    `"${place}" is neither an address, such as https://agent.example, nor a file.`,
  );
}

async function doctorAgent(context: CommandContext): Promise<number> {
  const { text, flag, io } = context;
  const url = readUrl(context);
  const [slow, origin] = [text("slow"), text("origin")];
  if (flag("no-send") && (slow ?? text("message")) !== undefined) {
    throw new UsageError("--no-send cannot be combined with --message or --slow.");
  }
  const options = {
    ...DEFAULT_EXAMINATION,
    url,
    credentials: await readAuthHeaders(context),
    allow: readAllow(context.texts("allow")),
    timeoutMs: readNumber(context, "timeout", 10, 3600) * 1000,
    bodyBytes: readNumber(context, "body", DEFAULT_EXAMINATION.bodyBytes, 100_000_000),
    // Something slow may take minutes, and the silence in between is what is examined.
    ...(slow !== undefined && { streamMs: SLOW_STREAM_MS }),
    text: flag("no-send") ? undefined : (slow ?? text("message") ?? "hello"),
    origin: origin === undefined ? undefined : readOrigin("origin", origin),
    signal: io.signal,
  };
  const { verdict, findings } = await withProgress(context, (onStep) =>
    examineAgent({ ...options, onStep }),
  );
  printFindings(context, { title: url, verdict, findings });
  if (verdict === "not-examined") return EXIT.noAnswer.code;
  return verdict === "problems" ? EXIT.taskFailed.code : EXIT.done.code;
}

const SLOW_STREAM_MS = 10 * 60_000;

async function doctorMachine(context: CommandContext, file: string | undefined): Promise<number> {
  const findings = await withProgress(context, (onStep) =>
    examineMachine({ env: context.io.env, file, onStep }),
  );
  const verdict = findings.hasProblems ? "problems" : "healthy";
  printFindings(context, { title: `This machine, in ${process.cwd()}`, verdict, findings });
  return verdict === "problems" ? EXIT.taskFailed.code : EXIT.done.code;
}

function readNumber({ text }: CommandContext, option: string, standard: number, most: number) {
  const value = Number(text(option) ?? standard);
  if (value > 0 && value <= most) return value;
  throw new UsageError(`--${option} must be a number up to ${most}, not "${text(option)}".`);
}
