import {
  type Command,
  type CommandContext,
  type CommandGroup,
  EXIT,
  UsageError,
} from "../terminal/command.ts";
import { askServer, unreadable } from "../connect/ask-server.ts";
import { objectField, textField } from "../terminal/json-fields.ts";
import { type Colours, ageOf, coloursFor, table } from "../terminal/output.ts";
import { oneLine } from "@convoke/protocol/internal";
import { AGENT_ENVIRONMENT, SERVER_OPTIONS, refuseText, urlOf } from "../connect/agent-options.ts";
import { commandLine, didYouMean } from "../terminal/command-line.ts";

const approvalsListCommand: Command = {
  name: "approvals list",
  summary: "List the tool calls that wait for your approval",
  usage: "<url> [options]",
  examples: [
    "convoke approvals list http://127.0.0.1:3000",
    "convoke approvals list http://127.0.0.1:3000 --json | jq '.approvals[].arguments'",
  ],
  options: SERVER_OPTIONS,
  environment: AGENT_ENVIRONMENT,
  run: approvalsList,
};

async function approvalsList(context: CommandContext): Promise<number> {
  const { io } = context;
  refuseText(context);
  const approvals = await listApprovals(context);
  if (context.flag("json")) {
    io.stdout(`${JSON.stringify({ approvals })}\n`);
    return EXIT.done.code;
  }
  const { dim } = coloursFor(io, "stderr");
  const [first] = approvals;
  if (first === undefined) {
    io.stderr(`${dim("Nothing waits for your approval.")}\n`);
    return EXIT.done.code;
  }
  io.stdout(approvalsTable(approvals, Date.now(), coloursFor(io, "stdout")));
  const answer = commandLine(context, "approvals answer", [textField(first, "id"), "--approve"]);
  io.stderr(`${dim(`Decide with: ${answer}, or --reject "why"`)}\n`);
  return EXIT.done.code;
}

const HEADS = ["ID", "RISK", "WAITS FOR", "TITLE", "CALL"] as const;

/** Approvals as an aligned table. Ids are whole, because they are there to be copied. */
export function approvalsTable(
  approvals: readonly ApprovalReport[],
  now: number,
  colours: Colours,
): string {
  const rows = approvals.map((approval) => {
    const call = `${textField(approval, "tool")} ${JSON.stringify(objectField(approval, "arguments"))}`;
    return [
      oneLine(textField(approval, "id"), Number.POSITIVE_INFINITY),
      oneLine(textField(approval, "risk")),
      ageOf(textField(approval, "createdAt"), now),
      oneLine(`${whom(approval)}${textField(approval, "title")}`, LONGEST_TITLE),
      oneLine(call, LONGEST_CALL),
    ];
  });
  return table(HEADS, rows, colours);
}

/** The agents that it came through, which a person must know to decide. */
function whom(approval: ApprovalReport): string {
  const from = Array.isArray(approval["from"]) ? (approval["from"] as readonly unknown[]) : [];
  return from.map((origin) => `${textField(origin as ApprovalReport, "name")} › `).join("");
}

const LASTING = ["once", "conversation", "always"];

const approvalsAnswerCommand: Command = {
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

export const approvalsCommands: CommandGroup = {
  name: "approvals",
  summary: "See what waits for your approval, and decide on it",
  commands: [approvalsListCommand, approvalsAnswerCommand],
};

const ABOUT = "approvals";

/** What the server says about one approval; nobody has checked it. */
export type ApprovalReport = Readonly<Record<string, unknown>>;

const LONGEST_TITLE = 60;

const LONGEST_CALL = 80;

/** A decision in the words of the server. */
export interface ApprovalWords {
  readonly decision: string;
  readonly feedback?: string;
  readonly arguments?: object;
}

/** All open approvals of the caller. */
export async function listApprovals(context: CommandContext): Promise<readonly ApprovalReport[]> {
  const all: ApprovalReport[] = [];
  for (let pageToken = ""; ;) {
    const query = pageToken === "" ? "" : `?pageToken=${encodeURIComponent(pageToken)}`;
    const page = await askServer(context, { path: `/convoke/approvals${query}`, about: ABOUT });
    if (!Array.isArray(page["approvals"])) throw unreadable("names no approvals");
    all.push(...(page["approvals"] as readonly ApprovalReport[]));
    const next = textField(page, "nextPageToken");
    // A server that repeats itself would keep us here.
    if (next === "" || next === pageToken) return all;
    pageToken = next;
  }
}

/** Decides on one of them, and gives what the server says of it. */
export async function answerApproval(
  context: CommandContext,
  id: string,
  words: ApprovalWords,
): Promise<ApprovalReport> {
  const path = `/convoke/approvals/${encodeURIComponent(id)}:answer`;
  return askServer(context, { path, body: words, about: ABOUT });
}
