import {
  CLIENT_PROBES,
  type OfferedProbe,
  type Results,
  checkClient,
  clientCommand,
  driverCommand,
  probeId,
} from "@convoke/check";
import { timeoutSignal } from "@convoke/protocol/internal";
import { type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { note } from "../terminal/output.ts";
import { ProgressLine, readSeconds, readSelection, rejectOptions } from "./check-options.ts";
import { readLevel, report } from "./check-report.ts";

/** The options that only the check of a server has. */
const SERVER_OPTIONS = [
  "message",
  "slow",
  "ask",
  "allow-origin",
  "token",
  "header",
  "api-key",
  "basic",
];

/** Offers the probes for clients until the session ends, and reports how the client did. */
export async function checkClientCommand(context: CommandContext): Promise<number> {
  const { io, text } = context;
  if (context.positionals.length > 0) throw new UsageError("--client takes no address.");
  rejectOptions(context, SERVER_OPTIONS, "is for the check of a server, without --client");
  readLevel(context);
  const [run, driver] = [text("run"), text("driver")];
  if (run !== undefined && driver !== undefined) {
    throw new UsageError("--run and --driver cannot be combined.");
  }
  const session = new Session(context);
  const line = new ProgressLine(io);
  let results: Results;
  try {
    results = await checkClient({
      ...readSelection(context, CLIENT_PROBE_IDS),
      port: readNumber("port", text("port") ?? "0", 0, 65_535),
      atOnce: readNumber("jobs", text("jobs") ?? "1", 1, 64),
      signal: session.signal,
      drive: run === undefined ? undefined : clientCommand(run),
      onReady: (listUrl, probes) => {
        if (driver !== undefined) void session.run(driver, listUrl);
        else if (run === undefined) showProbes(context, listUrl, probes);
      },
      onProbe: line.show.bind(line),
    });
  } finally {
    line.clear();
    session.close();
  }
  const code = await report(context, results, { kind: "client", head: () => "" });
  if (code !== EXIT.done.code || results.counts.passed > 0) return code;
  io.stderr("No probe was tested; see the report for the reasons.\n");
  return EXIT.noAnswer.code;
}

const CLIENT_PROBE_IDS = CLIENT_PROBES.flatMap((probe) =>
  probe.claims.flatMap((claim) => [claim.requirement, probeId(probe, claim)]),
);

/** Ends at Ctrl+C, after `--wait`, or when the driver has ended; the report follows in any case. */
class Session {
  readonly signal: AbortSignal;
  readonly #end = new AbortController();
  readonly #context: CommandContext;
  readonly #release: () => void;

  constructor(context: CommandContext) {
    const { io, text } = context;
    this.#context = context;
    const wait = text("wait");
    const limit = wait === undefined ? [] : [timeoutSignal(readSeconds("wait", wait) * 1000)];
    this.signal = AbortSignal.any([io.signal, this.#end.signal, ...limit]);
    this.#release = io.onInterrupt(() => this.#end.abort());
  }

  /** Runs the driver; when it ends, so does the session. */
  async run(driver: string, listUrl: string): Promise<void> {
    try {
      const code = await driverCommand(driver, listUrl, this.signal);
      if (code !== 0 && !this.signal.aborted) {
        note(this.#context, `The driver ended with exit code ${code}.`);
      }
    } finally {
      this.#end.abort();
    }
  }

  close(): void {
    this.#release();
  }
}

function readNumber(option: string, value: string, least: number, most: number): number {
  const number = Number(value);
  if (/^\d+$/.test(value) && number >= least && number <= most) return number;
  throw new UsageError(`--${option} must be a number from ${least} to ${most}, not "${value}".`);
}

/** Tells a person where to point the client. */
function showProbes(
  context: CommandContext,
  listUrl: string,
  probes: readonly OfferedProbe[],
): void {
  const lines = probes.map(({ cardUrl, instruction }) => `  ${cardUrl}\n    ${instruction}`);
  const list = context.flag("json") ? "" : `\n${lines.join("\n")}\n`;
  note(
    context,
    `The list of probes is at ${listUrl}. Press Ctrl+C to end the session and see the report.`,
  );
  context.io.stderr(list);
}
