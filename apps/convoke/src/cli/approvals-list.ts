import { AGENT_ENVIRONMENT, refuseText } from "./agent-options.ts";
import { listApprovals } from "./approvals-admin.ts";
import { approvalsTable } from "./approvals-table.ts";
import { coloursFor } from "./colours.ts";
import type { Command, CommandContext } from "./command.ts";
import { commandLine } from "./command-line.ts";
import { EXIT } from "./exit-code.ts";
import { textField } from "./json-fields.ts";
import { SERVER_OPTIONS } from "./server-options.ts";

export const approvalsListCommand: Command = {
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
