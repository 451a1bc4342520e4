import { writeFile } from "node:fs/promises";
import {
  BINDINGS,
  CARD_PROBES,
  type CheckProgress,
  type CheckSettings,
  GATE,
  LEVELS,
  type Level,
  PROBES,
  type ProbeResult,
  type Report,
  type Section,
  type WireHeaders,
  checkAgent,
  junitReport,
  meetsLevel,
  probeId,
} from "@convoke/check";
import {
  AGENT_ENVIRONMENT,
  AUTH_OPTIONS,
  readUrl,
  rejectMoreArguments,
} from "../connect/agent-options.ts";
import { type Colours, coloursFor, table } from "../terminal/output.ts";
import {
  type Command,
  type CommandContext,
  type CommandIo,
  EXIT,
  UsageError,
} from "../terminal/command.ts";
import { readAuth, toRequestParts } from "../connect/auth.ts";
import { didYouMean } from "../terminal/command-line.ts";
import { oneLine } from "@convoke/protocol/internal";

export const checkCommand: Command = {
  name: "check",
  summary: "Check how well a server conforms to A2A, on every interface of its card",
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
    verbose: { type: "boolean", help: "List what passed and each probe that was not tested" },
  },
  environment: AGENT_ENVIRONMENT,
  run: check,
};

async function check(context: CommandContext): Promise<number> {
  const { io } = context;
  rejectMoreArguments(context);
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
  const isFailed = LEVELS.some((each) => meetsLevel(each, level) && report.failures[each] > 0);
  if (isFailed) return EXIT.taskFailed.code;
  if (wasTried(report)) return EXIT.done.code;
  io.stderr("No interface could be tested; see the report for the reasons.\n");
  return EXIT.noAnswer.code;
}

/** Whether anything was tested: the first probe of an interface decides whether the others can run. */
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

const VERSIONS = ["0.3", "1.0"] as const;

/** The settings on the command line. */
async function settingsOf(context: CommandContext): Promise<CheckSettings> {
  const { text, io } = context;
  return {
    url: readUrl(context),
    message: text("message") ?? "hello",
    slow: text("slow"),
    ask: text("ask"),
    timeoutMs: readSeconds(text("timeout")) * 1000,
    credentials: await readCredentials(context),
    allowOrigins: words(text("allow-origin")).map(readOrigin),
    versions: oneOf("a2a-version", text("a2a-version"), VERSIONS),
    bindings: oneOf("binding", text("binding"), BINDINGS),
    only: words(text("only")).map(readId),
    signal: io.signal,
  };
}

/** The weakest level that counts as a failure. */
function levelOf({ text }: CommandContext): Level {
  return oneOf("level", text("level")?.toUpperCase(), LEVELS)[0] ?? "MUST";
}

function readSeconds(value: string | undefined): number {
  const seconds = Number(value ?? "20");
  if (seconds > 0 && seconds <= 3600) return seconds;
  throw new UsageError(`--timeout must be a number of seconds up to 3600, not "${value}".`);
}

/** The credentials as headers. A key in the query would appear in every reported address. */
async function readCredentials(context: CommandContext): Promise<WireHeaders> {
  const { headers, query } = await toRequestParts(await readAuth(context), readUrl(context));
  if (Object.keys(query).length > 0) {
    throw new UsageError("An --api-key in the query is not supported here; send it as a header.");
  }
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return Object.fromEntries(entries) as WireHeaders;
}

function readOrigin(value: string): string {
  if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol))
    return new URL(value).origin;
  throw new UsageError(
    `--allow-origin must be an origin such as https://example.com, not "${value}".`,
  );
}

function readId(value: string): string {
  const known = [
    ...CARD_PROBES.map((probe) => [probe, probe.claim] as const),
    ...[GATE, ...PROBES].flatMap((probe) => probe.claims.map((claim) => [probe, claim] as const)),
  ].flatMap(([probe, claim]) => [claim.requirement, probeId(probe, claim)]);
  if (known.includes(value)) return value;
  throw new UsageError(
    `--only: there is no probe or requirement "${value}".${didYouMean(value, [...new Set(known)])}`,
  );
}

function oneOf<Value extends string>(
  option: string,
  value: string | undefined,
  values: readonly Value[],
): readonly Value[] {
  if (value === undefined) return [];
  const found = values.find((each) => each === value);
  if (found !== undefined) return [found];
  const choices = values.map((each) => each.toLowerCase()).join(", ");
  throw new UsageError(`--${option} must be one of ${choices}, not "${value.toLowerCase()}".`);
}

function words(value: string | undefined): readonly string[] {
  return (value ?? "")
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

const CLEAR = "\r\u001B[2K";

/** A progress line on stderr that is cleared at the end. Only for terminals. */
class ProgressLine {
  readonly #io: CommandIo;

  constructor(io: CommandIo) {
    this.#io = io;
  }

  show({ done, total, place, id }: CheckProgress): void {
    if (!this.#io.isTTY.stderr) return;
    this.#io.stderr(`${CLEAR}${done + 1}/${total}  ${oneLine(place, 30)}  ${id}`);
  }

  clear(): void {
    if (this.#io.isTTY.stderr) this.#io.stderr(CLEAR);
  }
}

interface TextOptions {
  /** Whether to list passed and skipped probes as well. */
  readonly verbose: boolean;
  readonly colours: Colours;
}

/**
 * The report as text: counts, every failure in full, and a summary of what was not tested. All text
 * of the server is printed without control characters: it must not control the terminal.
 */
function tableReport(report: Report, options: TextOptions): string {
  const { colours } = options;
  const { name, version } = report.agent;
  const who = oneLine(`${name} ${version}`) || "Unnamed agent";
  const blocks = [
    `${colours.bold(who)}\ncard at ${oneLine(report.cardUrl)}\n${usedMessages(report)}`,
    overview(report, colours),
    ...report.sections.map((section) => details(section, options)),
    options.verbose ? "" : notTestedSummary(report, colours),
    `${verdict(report, colours)}\n`,
  ];
  return blocks.filter((block) => block !== "").join("\n");
}

function overview({ sections }: Report, colours: Colours): string {
  const rows = sections.map((section) => [
    oneLine(section.name),
    oneLine(section.url),
    String(section.counts.passed),
    failuresOf(section),
    section.skipped === undefined ? String(section.counts.skipped) : "all",
  ]);
  return table(["WHERE", "ADDRESS", "PASSED", "FAILED", "NOT TESTED"], rows, colours);
}

/** Such as `3 (1 MUST, 2 SHOULD)`. */
function failuresOf({ results, counts }: Section): string {
  if (counts.failed === 0) return "0";
  const failed = results.filter(({ outcome }) => outcome === "failed");
  return `${counts.failed} (${byLevel((level) => failed.filter((each) => each.level === level).length)})`;
}

function byLevel(count: (level: Level) => number): string {
  return LEVELS.filter((level) => count(level) > 0)
    .map((level) => `${count(level)} ${level}`)
    .join(", ");
}

function details(section: Section, { verbose, colours }: TextOptions): string {
  const { name, url, skipped, results } = section;
  const head = colours.bold(`${oneLine(name)} at ${oneLine(url)}`);
  if (skipped !== undefined) {
    return verbose ? `${head}\n  not tested: ${withFlags(skipped)}\n` : "";
  }
  const failed = results.filter(({ outcome }) => outcome === "failed");
  const passed = verbose ? results.filter(({ outcome }) => outcome === "passed") : [];
  const lines = [
    ...passed.map(({ id, says }) => `  passed  ${id}  ${says}`),
    ...failed.map((result) => failure(result, colours)),
    ...(verbose ? notTested(results, colours) : []),
  ];
  return lines.length === 0 ? "" : `${head}\n${lines.join("\n")}\n`;
}

/** Longer texts are cut. */
const MAX_SHOWN = 600;

function failure(result: ProbeResult, { red, dim }: Colours): string {
  const { id, level, section, says, sent = "", received = "", expected = "" } = result;
  return [
    `  ${red("FAILED")}  ${id}  ${level}  ${section}`,
    `          ${says}`,
    `          ${dim("sent")}      ${oneLine(sent, MAX_SHOWN)}`,
    `          ${dim("received")}  ${oneLine(received, MAX_SHOWN)}`,
    `          ${dim("expected")}  ${oneLine(expected, MAX_SHOWN)}`,
  ].join("\n");
}

/** Names what was found on the card, so that the user can repeat it. */
function usedMessages({ messages: { slow, ask } }: Report): string {
  const used = Object.entries({ slow, ask }).filter(([, text]) => text !== undefined);
  if (used.length === 0) return "";
  return `messages: ${used.map(([name, text]) => `--${name} ${JSON.stringify(oneLine(text ?? ""))}`).join(" ")}\n`;
}

/** A line for each option that would test more, and the number of all others. */
function notTestedSummary({ sections, counts }: Report, { dim, bold }: Colours): string {
  const reasons = [
    ...sections.flatMap(({ results }) => results.filter(({ outcome }) => outcome === "skipped")),
    ...sections.flatMap(({ skipped }) =>
      skipped === undefined ? [] : [{ reason: `whole interfaces: ${skipped}` }],
    ),
  ].map(({ reason = "" }) => reason);
  if (reasons.length === 0) return "";
  const helpful = reasons.filter((reason) => reason.includes("(option: "));
  const lines = [...Map.groupBy(helpful, (reason) => reason)]
    .toSorted(([, some], [, others]) => others.length - some.length)
    .map(([reason, all]) => `  ${String(all.length).padStart(4)}  ${withFlags(reason)}`);
  const others = reasons.length - helpful.length;
  if (others > 0) lines.push(`  ${String(others).padStart(4)}  do not apply to this server`);
  const head = bold(`Not tested: ${counts.skipped} probes`);
  return `${head}\n${lines.join("\n")}\n${dim("  --verbose lists each of them.")}\n`;
}

/** One line for each reason, with the probes that were skipped for it. */
function notTested(results: readonly ProbeResult[], { dim }: Colours): readonly string[] {
  const skipped = results.filter(({ outcome }) => outcome === "skipped");
  const byReason = Map.groupBy(skipped, ({ reason = "" }) => reason);
  return [...byReason].map(([reason, entries]) => {
    const ids = entries.map(({ id }) => id).join(", ");
    return `  ${dim("not tested")}  ${withFlags(reason)}\n              ${dim(ids)}`;
  });
}

/** The reason with the flags of this command instead of the options of the kit. */
function withFlags(reason: string): string {
  return oneLine(reason).replace(/\(option: ([a-z\d-]+)\)/, (_, name: string) =>
    name === "credentials" ? "(--token, --header)" : `(--${name})`,
  );
}

function verdict({ counts, failures }: Report, { bold, red }: Colours): string {
  const told = `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} not tested`;
  const by = counts.failed === 0 ? "" : `: ${byLevel((level) => failures[level])}`;
  return (counts.failed === 0 ? bold : red)(`${told}${by}`);
}
