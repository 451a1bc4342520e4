import {
  type Command,
  type CommandContext,
  type CommandGroup,
  EXIT,
  UsageError,
} from "../terminal/command.ts";
import { askServer, readReports } from "../connect/ask-server.ts";
import { objectField, textField } from "../terminal/json-fields.ts";
import { type Colours, coloursFor, formatAge, ownerText, table } from "../terminal/output.ts";
import { oneLine, printableJson } from "@convoke/protocol/internal";
import {
  AGENT_ENVIRONMENT,
  OWNER_OPTION,
  SERVER_OPTIONS,
  ownerWords,
  readOwner,
  readUrl,
  rejectMoreArguments,
} from "../connect/agent-options.ts";
import { commandLine, didYouMean } from "../terminal/command-line.ts";

async function approvalsList(context: CommandContext): Promise<number> {
  const { io } = context;
  rejectMoreArguments(context);
  const approvals = await listApprovals(context);
  if (context.flag("json")) {
    io.stdout(`${printableJson({ approvals })}\n`);
    return EXIT.done.code;
  }
  const { dim } = coloursFor(io, "stderr");
  const [first] = approvals;
  if (first === undefined) {
    io.stderr(`${dim("No approvals are pending.")}\n`);
    return EXIT.done.code;
  }
  io.stdout(approvalsTable(approvals, Date.now(), coloursFor(io, "stdout")));
  const words = [textField(first, "id"), ...ownerWords(context), "--approve"];
  const answer = commandLine(context, "approvals answer", words);
  io.stderr(`${dim(`Decide with: ${answer}, or --reject "why"`)}\n`);
  return EXIT.done.code;
}

const HEADS = ["ID", "RISK", "WAITS FOR", "TITLE", "CALL"] as const;

/** Approvals as a table. Ids are not shortened, so that they can be copied. */
export function approvalsTable(
  approvals: readonly ApprovalReport[],
  now: number,
  colours: Colours,
): string {
  const isOfAll = approvals.some((approval) => ownerText(approval) !== "");
  const rows = approvals.map((approval) => {
    const call = `${textField(approval, "tool")} ${printableJson(objectField(approval, "arguments"))}`;
    return [
      oneLine(textField(approval, "id"), Number.POSITIVE_INFINITY),
      oneLine(textField(approval, "risk")),
      formatAge(textField(approval, "createdAt"), now),
      oneLine(`${whom(approval)}${textField(approval, "title")}`, LONGEST_TITLE),
      oneLine(call, LONGEST_CALL),
      ...(isOfAll ? [oneLine(ownerText(approval))] : []),
    ];
  });
  return table([...HEADS, ...(isOfAll ? ["OWNER"] : [])], rows, colours);
}

/** The agents that passed the approval on, which the user must know to decide. */
function whom(approval: ApprovalReport): string {
  const from = Array.isArray(approval["from"]) ? (approval["from"] as readonly unknown[]) : [];
  return from.map((origin) => `${textField(origin as ApprovalReport, "name")} › `).join("");
}

async function approvalsAnswer(context: CommandContext): Promise<number> {
  const { io } = context;
  readUrl(context);
  const [, id, extra] = context.positionals;
  if (id === undefined) {
    throw new UsageError(
      `The id of the approval is missing; ${commandLine(context, "approvals list", [])} shows them.`,
    );
  }
  if (extra !== undefined) throw new UsageError(`"${extra}" is an unexpected argument.`);
  const words = wordsOf(context);
  const answered = await answerApproval(context, id, words);
  if (context.flag("json")) {
    io.stdout(`${printableJson(answered)}\n`);
    return EXIT.done.code;
  }
  io.stdout(`${TOLD[words.decision] ?? words.decision}: ${oneLine(id)}\n`);
  const taskId = textField(answered, "taskId");
  // Only the owner of a task can follow it.
  if (taskId !== "" && context.text("owner") === undefined) {
    const { dim } = coloursFor(io, "stderr");
    io.stderr(
      `${dim(`Follow the task with: ${commandLine(context, "tasks", [taskId, "--watch"])}`)}\n`,
    );
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

/** The decision on the command line. */
function wordsOf({ flag, text }: CommandContext): ApprovalWords {
  const feedback = text("reject");
  const edited = text("edit");
  const lasting = text("for");
  const typed = [flag("approve"), feedback !== undefined, edited !== undefined];
  if (typed.filter(Boolean).length !== 1) {
    throw new UsageError("Decide with exactly one of --approve, --reject <why> and --edit <json>.");
  }
  if (lasting !== undefined && !flag("approve")) {
    throw new UsageError("--for can only be used with --approve.");
  }
  if (feedback !== undefined) {
    return { decision: "reject", ...(feedback.trim() !== "" && { feedback }) };
  }
  return edited === undefined
    ? { decision: readLasting(lasting) }
    : { decision: "edit", arguments: readArguments(edited) };
}

const LASTING = ["once", "conversation", "always"];

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
    // Reported below, like JSON of another type.
  }
  throw new UsageError(`--edit must be a JSON object such as '{"path":"b.txt"}', not ${json}.`);
}

const approvalsAnswerCommand: Command = {
  name: "approvals answer",
  summary: "Approve or reject a tool call, or run it with other arguments",
  usage: "<url> <id> --approve | --reject <why> | --edit <json> [options]",
  examples: [
    "convoke approvals answer http://127.0.0.1:3000 0198f3c2-1-1-call_1 --approve",
    "convoke approvals answer http://127.0.0.1:3000 0198f3c2-1-1-call_1 --approve --for conversation",
    'convoke approvals answer http://127.0.0.1:3000 0198f3c2-1-1-call_1 --reject "write to b.txt"',
    `convoke approvals answer http://127.0.0.1:3000 0198f3c2-1-1-call_1 --edit '{"path":"b.txt"}'`,
  ],
  options: {
    approve: { type: "boolean", help: "Approve the call" },
    for: {
      type: "string",
      value: "<how long>",
      choices: LASTING,
      help: `With --approve: ${LASTING.join(", ")} (default: once)`,
    },
    reject: { type: "string", value: "<why>", help: "Reject the call and tell the agent why" },
    edit: {
      type: "string",
      value: "<json>",
      help: "Approve the call with these arguments instead",
    },
    ...OWNER_OPTION,
    ...SERVER_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: approvalsAnswer,
};

const approvalsListCommand: Command = {
  name: "approvals list",
  summary: "List tool calls that need your approval",
  usage: "<url> [options]",
  examples: [
    "convoke approvals list http://127.0.0.1:3000",
    "convoke approvals list http://127.0.0.1:3000 --json | jq '.approvals[].arguments'",
  ],
  options: { ...OWNER_OPTION, ...SERVER_OPTIONS },
  environment: AGENT_ENVIRONMENT,
  run: approvalsList,
};

export const approvalsCommands: CommandGroup = {
  name: "approvals",
  summary: "List tool calls that need your approval, and decide on them",
  commands: [approvalsListCommand, approvalsAnswerCommand],
};

const ABOUT = "approvals";

/** An approval as the server reports it, not validated. */
export type ApprovalReport = Readonly<Record<string, unknown>>;

const LONGEST_TITLE = 60;

const LONGEST_CALL = 80;

/** A decision as the server expects it. */
export interface ApprovalWords {
  readonly decision: string;
  readonly feedback?: string;
  readonly arguments?: object;
}

/** All pending approvals of the caller, or of all owners. */
export async function listApprovals(context: CommandContext): Promise<readonly ApprovalReport[]> {
  const query = readOwner(context);
  return readReports(context, {
    path: "/convoke/approvals",
    query,
    about: ABOUT,
    name: "approvals",
  });
}

/** Decides on an approval. Returns the updated report of the server. */
export async function answerApproval(
  context: CommandContext,
  id: string,
  words: ApprovalWords,
): Promise<ApprovalReport> {
  const path = `/convoke/approvals/${encodeURIComponent(id)}:answer`;
  return askServer(context, { path, query: readOwner(context), body: words, about: ABOUT });
}
