import { writeFile } from "node:fs/promises";
import { checkAgent, counts, junitReport, LEVELS, type Report } from "@convoke/check";
import { levelOf, settingsOf } from "./check/check-options.ts";
import { ProgressLine } from "./check/progress-line.ts";
import { tableReport } from "./check/table-report.ts";
import { AGENT_ENVIRONMENT, AUTH_OPTIONS, refuseText } from "./agent-options.ts";
import { coloursFor } from "./colours.ts";
import type { Command, CommandContext } from "./command.ts";
import { EXIT } from "./exit-code.ts";
import { UsageError } from "./usage-error.ts";

export const checkCommand: Command = {
  name: "check",
  summary: "Check how well a server keeps to A2A, on every interface of its card",
  usage: "<url> [options]",
  examples: [
    "convoke check http://127.0.0.1:3000",
    'convoke check http://127.0.0.1:3000 --slow "slow 50" --ask ask',
    "convoke check http://127.0.0.1:3000 --binding jsonrpc --only v1-S14,v1-S25",
    "convoke check https://agent.example.com --token secret --junit check.xml --level should",
  ],
  options: {
    message: { type: "string", value: "<text>", help: 'An ordinary message (default: "hello")' },
    slow: {
      type: "string",
      value: "<text>",
      help: "A message that keeps the agent busy for seconds",
    },
    ask: { type: "string", value: "<text>", help: "A message that makes the agent ask back" },
    timeout: { type: "string", value: "<seconds>", help: "For each probe (default: 20)" },
    ...AUTH_OPTIONS,
    "allow-origin": {
      type: "string",
      value: "<origins>",
      help: "Other origins that may be spoken to, credentials and all, with commas between",
    },
    version: { type: "string", value: "<version>", help: "Only the interfaces of 0.3 or 1.0" },
    binding: { type: "string", value: "<binding>", help: "Only jsonrpc, rest or grpc" },
    only: {
      type: "string",
      value: "<ids>",
      help: "Only these probes or requirements, such as v1-S14,v1-S25.cancel",
    },
    level: {
      type: "string",
      value: "<level>",
      help: "What makes the exit code 1: must, should or may (default: must)",
    },
    json: { type: "boolean", help: "Print JSON for programs instead of text for people" },
    junit: { type: "string", value: "<file>", help: "Write JUnit XML to this file as well" },
    verbose: { type: "boolean", help: "List what passed as well" },
  },
  environment: AGENT_ENVIRONMENT,
  run: check,
};

async function check(context: CommandContext): Promise<number> {
  const { io } = context;
  refuseText(context);
  const level = levelOf(context);
  const line = new ProgressLine(io);
  const settings = { ...(await settingsOf(context)), onProbe: line.show.bind(line) };
  let report: Report;
  try {
    report = await checkAgent(settings);
  } finally {
    line.clear();
  }
  const colours = coloursFor(io, "stdout");
  const text = context.flag("json")
    ? `${JSON.stringify(report)}\n`
    : tableReport(report, { verbose: context.flag("verbose"), colours });
  io.stdout(text);
  await writeJunit(context, report);
  const isFailed = LEVELS.some((each) => counts(each, level) && report.failures[each] > 0);
  if (isFailed) return EXIT.taskFailed.code;
  if (wasTried(report)) return EXIT.done.code;
  io.stderr("Nothing could be tested at any interface; the reasons are in the report.\n");
  return EXIT.noAnswer.code;
}

/** What was not tested has not passed. The first probe at an interface says whether others can be. */
function wasTried({ sections }: Report): boolean {
  const interfaces = sections.filter(({ kind }) => kind === "interface");
  return interfaces.some(({ results: [first] }) => first?.outcome === "passed");
}

async function writeJunit({ text }: CommandContext, report: Report): Promise<void> {
  const file = text("junit");
  if (file === undefined) return;
  try {
    await writeFile(file, junitReport(report));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--junit could not be written: ${why}.`);
  }
}
