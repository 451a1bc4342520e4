import { type ApprovalWords, answerApproval } from "./approvals-admin.ts";
import { AGENT_ENVIRONMENT, urlOf } from "./agent-options.ts";
import type { Command, CommandContext } from "./command.ts";
import { commandLine } from "./command-line.ts";
import { coloursFor } from "./colours.ts";
import { EXIT } from "./exit-code.ts";
import { textField } from "./json-fields.ts";
import { didYouMean } from "./nearest.ts";
import { oneLine } from "@convoke/protocol/internal";
import { SERVER_OPTIONS } from "./server-options.ts";
import { UsageError } from "./usage-error.ts";

const LASTING = ["once", "conversation", "always"];

export const approvalsAnswerCommand: Command = {
  name: "approvals answer",
  summary: "Approve or reject a tool call, or let it run with other arguments",
  usage: "<url> <id> --approve | --reject <why> | --edit <json> [options]",
  examples: [
    "convoke approvals answer http://127.0.0.1:3000 0198f3c2-1-1-call_1 --approve",
    "convoke approvals answer http://127.0.0.1:3000 0198f3c2-1-1-call_1 --approve --for conversation",
    'convoke approvals answer http://127.0.0.1:3000 0198f3c2-1-1-call_1 --reject "write to b.txt"',
    `convoke approvals answer http://127.0.0.1:3000 0198f3c2-1-1-call_1 --edit '{"path":"b.txt"}'`,
  ],
  options: {
    approve: { type: "boolean", help: "Let the call run" },
    for: {
      type: "string",
      value: "<how long>",
      help: `With --approve: ${LASTING.join(", ")} (default: once)`,
    },
    reject: { type: "string", value: "<why>", help: "Refuse the call; the agent is told why" },
    edit: { type: "string", value: "<json>", help: "Let the tool run with these arguments" },
    ...SERVER_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: approvalsAnswer,
};

async function approvalsAnswer(context: CommandContext): Promise<number> {
  const { io } = context;
  urlOf(context);
  const [, id, extra] = context.positionals;
  if (id === undefined) {
    throw new UsageError(
      `The id of the approval is missing; ${commandLine(context, "approvals list", [])} shows them.`,
    );
  }
  if (extra !== undefined) throw new UsageError(`"${extra}" is one argument too many.`);
  const words = wordsOf(context);
  const answered = await answerApproval(context, id, words);
  if (context.flag("json")) {
    io.stdout(`${JSON.stringify(answered)}\n`);
    return EXIT.done.code;
  }
  io.stdout(`${TOLD[words.decision] ?? words.decision}: ${oneLine(id)}\n`);
  const taskId = textField(answered, "taskId");
  if (taskId !== "") {
    const { dim } = coloursFor(io, "stderr");
    io.stderr(`${dim(`See what comes of it with: ${commandLine(context, "watch", [taskId])}`)}\n`);
  }
  return EXIT.done.code;
}

const TOLD: Readonly<Record<string, string>> = {
  once: "Approved",
  conversation: "Approved for the rest of the conversation",
  always: "Approved from now on",
  reject: "Rejected",
  edit: "Approved with other arguments",
};

/** The one decision that was typed. */
function wordsOf({ flag, text }: CommandContext): ApprovalWords {
  const feedback = text("reject");
  const edited = text("edit");
  const lasting = text("for");
  const typed = [flag("approve"), feedback !== undefined, edited !== undefined];
  if (typed.filter(Boolean).length !== 1) {
    throw new UsageError("Decide with exactly one of --approve, --reject <why> and --edit <json>.");
  }
  if (lasting !== undefined && !flag("approve")) {
    throw new UsageError("--for says how long --approve holds, and goes with it alone.");
  }
  if (feedback !== undefined) {
    return { decision: "reject", ...(feedback.trim() !== "" && { feedback }) };
  }
  return edited === undefined
    ? { decision: readLasting(lasting) }
    : { decision: "edit", arguments: readArguments(edited) };
}

function readLasting(value = "once"): string {
  if (LASTING.includes(value)) return value;
  throw new UsageError(
    `--for must be one of ${LASTING.join(", ")}, not "${value}".${didYouMean(value, LASTING)}`,
  );
}

function readArguments(json: string): object {
  try {
    const value = JSON.parse(json) as unknown;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // The same advice as for JSON of another kind.
  }
  throw new UsageError(`--edit must be a JSON object such as '{"path":"b.txt"}', not ${json}.`);
}
