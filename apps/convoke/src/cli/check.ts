import {
  CARD_PROBES,
  type CheckSettings,
  GATE,
  PROBES,
  type Report,
  checkAgent,
  probeId,
} from "@convoke/check";
import {
  AGENT_ENVIRONMENT,
  AUTH_OPTIONS,
  readOrigin,
  readUrl,
  rejectMoreArguments,
} from "../connect/agent-options.ts";
import type { Colours } from "../terminal/output.ts";
import { type Command, type CommandContext, EXIT } from "../terminal/command.ts";
import { readAuthHeaders } from "../connect/auth.ts";
import { ProgressLine, readSelection, rejectOptions, words } from "./check-options.ts";
import { readLevel, report } from "./check-report.ts";
import { oneLine } from "@convoke/protocol/internal";

const CLIENT_OPTIONS = {
  run: {
    type: "string",
    value: "<command>",
    help: "With --client: run this command once for each probe; see below",
  },
  driver: {
    type: "string",
    value: "<command>",
    help: "With --client: run this command once; it visits all probes and reports the results itself",
  },
  port: {
    type: "string",
    value: "<number>",
    help: "With --client: the port of the server on this machine (default: any free port)",
  },
  wait: {
    type: "string",
    value: "<seconds>",
    help: "With --client: end after this time (default: when all probes have been visited)",
  },
  jobs: {
    type: "string",
    value: "<number>",
    help: "With --client: run the command for so many probes at once (default: 1)",
  },
} as const satisfies Command["options"];

export const checkCommand: Command = {
  name: "check",
  summary: "Check how well a server, or with --client a client, conforms to A2A",
  usage: "<url> [options], or --client [options]",
  examples: [
    "convoke check http://127.0.0.1:3000",
    'convoke check http://127.0.0.1:3000 --slow "slow 50" --ask ask',
    "convoke check http://127.0.0.1:3000 --binding jsonrpc --only v1-S14,v1-S25",
    "convoke check https://agent.example.com --token secret --junit check.xml --level should",
    "convoke check --client --a2a-version 1.0 --binding jsonrpc",
    'convoke check --client --run "node client.js" --junit check.xml',
  ],
  options: {
    message: { type: "string", value: "<text>", help: 'An ordinary message (default: "hello")' },
    slow: {
      type: "string",
      value: "<text>",
      help: "A message that keeps the agent busy for a few seconds (default: an example of the card)",
    },
    ask: {
      type: "string",
      value: "<text>",
      help: "A message that makes the agent ask a question (default: an example of the card)",
    },
    timeout: { type: "string", value: "<seconds>", help: "Time limit of each probe (default: 20)" },
    ...AUTH_OPTIONS,
    "allow-origin": {
      type: "string",
      value: "<origins>",
      help: "Other origins that may be called, with the credentials, separated by commas",
    },
    "a2a-version": {
      type: "string",
      value: "<version>",
      choices: ["0.3", "1.0"],
      help: "Check only interfaces of 0.3 or 1.0",
    },
    binding: {
      type: "string",
      value: "<binding>",
      choices: ["jsonrpc", "rest", "grpc"],
      help: "Check only jsonrpc, rest or grpc",
    },
    only: {
      type: "string",
      value: "<ids>",
      help: "Run only these probes or requirements, for example v1-S14,v1-S25.cancel",
    },
    level: {
      type: "string",
      value: "<level>",
      choices: ["must", "should", "may"],
      help: "Failures at or above this level set the exit code to 1: must, should or may (default: must)",
    },
    json: { type: "boolean", help: "Print JSON instead of text" },
    junit: { type: "string", value: "<file>", help: "Write JUnit XML to this file as well" },
    markdown: { type: "string", value: "<file>", help: "Write Markdown to this file as well" },
    verbose: { type: "boolean", help: "List what passed and each probe that was not tested" },
    client: {
      type: "boolean",
      help: "Check a client instead: serve an agent for each probe, and judge what the client does",
    },
    ...CLIENT_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  more: `The command of --run gets CONVOKE_CARD_URL, CONVOKE_ACTION and CONVOKE_INSTRUCTION, which say what
to do, and CONVOKE_PROBE, CONVOKE_BINDING, CONVOKE_VERSION and CONVOKE_TOKEN. It prints the text of
the answer, and exits with another code than 0 if it has an error to report, or with 77 if it does
not support what the probe is about. The command of --driver gets CONVOKE_PROBES_URL.`,
  run: check,
};

async function check(context: CommandContext): Promise<number> {
  if (context.flag("client")) {
    const { checkClientCommand } = await import("./check-client.ts");
    return checkClientCommand(context);
  }
  rejectOptions(context, Object.keys(CLIENT_OPTIONS), "requires --client");
  const { io } = context;
  rejectMoreArguments(context);
  readLevel(context);
  const line = new ProgressLine(io);
  const settings = { ...(await settingsOf(context)), onProbe: line.show.bind(line) };
  let found: Report;
  try {
    found = await checkAgent(settings);
  } finally {
    line.clear();
  }
  const code = await report(context, found, { kind: "server", head: headOf(found) });
  if (code !== EXIT.done.code || wasTried(found)) return code;
  io.stderr("No interface could be tested; see the report for the reasons.\n");
  return EXIT.noAnswer.code;
}

function headOf(found: Report): (colours: Colours) => string {
  const { name, version } = found.agent;
  const who = oneLine(`${name} ${version}`) || "Unnamed agent";
  return ({ bold }) => `${bold(who)}\ncard at ${oneLine(found.cardUrl)}\n${usedMessages(found)}`;
}

/** Names what was found on the card, so that the user can repeat it. */
function usedMessages({ messages: { slow, ask } }: Report): string {
  const used = Object.entries({ slow, ask }).filter(([, text]) => text !== undefined);
  if (used.length === 0) return "";
  return `messages: ${used.map(([name, text]) => `--${name} ${JSON.stringify(oneLine(text ?? ""))}`).join(" ")}\n`;
}

/** Whether anything was tested: the first probe of an interface decides whether the others can run. */
function wasTried({ sections }: Report): boolean {
  const interfaces = sections.filter(({ kind }) => kind === "interface");
  return interfaces.some(({ results: [first] }) => first?.outcome === "passed");
}

/** The settings on the command line. */
async function settingsOf(context: CommandContext): Promise<CheckSettings> {
  const { text, io } = context;
  return {
    url: readUrl(context),
    message: text("message") ?? "hello",
    slow: text("slow"),
    ask: text("ask"),
    ...readSelection(context, SERVER_PROBE_IDS),
    credentials: await readAuthHeaders(context),
    allowOrigins: words(text("allow-origin")).map((value) => readOrigin("allow-origin", value)),
    signal: io.signal,
  };
}

const SERVER_PROBE_IDS = [
  ...CARD_PROBES.map((probe) => [probe, probe.claim] as const),
  ...[GATE, ...PROBES].flatMap((probe) => probe.claims.map((claim) => [probe, claim] as const)),
].flatMap(([probe, claim]) => [claim.requirement, probeId(probe, claim)]);
