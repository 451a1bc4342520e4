import { AGENT_ENVIRONMENT, refuseText } from "./agent-options.ts";
import { coloursFor } from "./colours.ts";
import type { Command, CommandContext } from "./command.ts";
import { commandLine } from "./command-line.ts";
import { EXIT } from "./exit-code.ts";
import { didYouMean } from "./nearest.ts";
import { listPushes } from "./push-admin.ts";
import { SERVER_OPTIONS } from "./server-options.ts";
import { pushTable } from "./push-table.ts";
import { UsageError } from "./usage-error.ts";

/** What is said when there are none in the state. */
const EMPTY: Readonly<Record<string, string>> = {
  dead: "Nothing was given up.",
  active: "Nothing is on its way.",
  done: "Nothing was delivered to its end.",
};
const STATES = Object.keys(EMPTY);

export const pushListCommand: Command = {
  name: "push list",
  summary: "List the push notifications that were given up",
  usage: "<url> [options]",
  examples: [
    "convoke push list http://127.0.0.1:3000",
    "convoke push list http://127.0.0.1:3000 --state active",
    "convoke push list http://127.0.0.1:3000 --json | jq '.pushes[].problem'",
  ],
  options: {
    state: {
      type: "string",
      value: "<state>",
      help: `Those in this state: ${STATES.join(", ")} (default: dead, which are given up)`,
    },
    ...SERVER_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: pushList,
};

async function pushList(context: CommandContext): Promise<number> {
  const { io } = context;
  refuseText(context);
  const state = readState(context.text("state"));
  const pushes = await listPushes(context, state);
  if (context.flag("json")) {
    io.stdout(`${JSON.stringify({ pushes })}\n`);
    return EXIT.done.code;
  }
  const { dim } = coloursFor(io, "stderr");
  if (pushes.length === 0) io.stderr(`${dim(EMPTY[state] ?? "")}\n`);
  else io.stdout(pushTable(pushes, Date.now(), coloursFor(io, "stdout")));
  if (pushes.length > 0 && state === "dead") {
    io.stderr(`${dim(`Try them again with: ${commandLine(context, "push replay", [])}`)}\n`);
  }
  return EXIT.done.code;
}

function readState(value = "dead"): string {
  if (STATES.includes(value)) return value;
  throw new UsageError(
    `--state must be one of ${STATES.join(", ")}, not "${value}".${didYouMean(value, STATES)}`,
  );
}
