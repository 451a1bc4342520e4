import { oneLine, printableJson } from "@convoke/protocol/internal";
import { AUTH_OPTIONS, STATE_OPTION, readState } from "../connect/agent-options.ts";
import type { DeletableTask, TaskFilter, TaskRemover } from "../logs/task-remover.ts";
import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { YES_OPTION, confirm } from "../terminal/confirm.ts";
import { isDatabaseError } from "../terminal/database-url.ts";
import { coloursFor, formatAge, note, table } from "../terminal/output.ts";

export const tasksDeleteCommand: Command = {
  name: "tasks delete",
  summary: "Delete tasks: their logs, results and push configs",
  usage: "<url> [task ...] [options]",
  examples: [
    "convoke tasks delete http://127.0.0.1:3000 0198f3c2",
    "convoke tasks delete http://127.0.0.1:3000 --before 2026-01-31 --dry-run",
    "convoke tasks delete http://127.0.0.1:3000 --owner ann --state failed --yes",
    "convoke tasks delete --data /var/lib/my-agent --context 0198f3c2-63bd --cancel --yes",
  ],
  options: {
    context: { type: "string", value: "<id>", help: "Only tasks of this conversation" },
    owner: {
      type: "string",
      value: "<name>",
      help: "Those of this owner, or of all with '*', if your role allows it (default: your own; with --data: of all)",
    },
    before: {
      type: "string",
      value: "<date>",
      help: "Only tasks whose last status is older, for example 2026-01-31 or 2026-01-31T12:00Z",
    },
    ...STATE_OPTION,
    cancel: {
      type: "boolean",
      help: "Cancel unfinished tasks first (default: they are not deleted)",
    },
    "dry-run": { type: "boolean", help: "Only list the tasks that would be deleted" },
    ...YES_OPTION,
    data: {
      type: "string",
      value: "<folder or address>",
      help: "Instead of <url>: the data folder of a stopped server, or the address of its database",
    },
    json: { type: "boolean", help: "Print JSON instead of text" },
    ...AUTH_OPTIONS,
  },
  environment: {
    CONVOKE_TOKEN: "Bearer token, sent only to this machine and to the origin of CONVOKE_URL",
    CONVOKE_FILES: "With --data: where large files are, if they are not in the folder",
  },
  more: `Name tasks, or choose them with --context, --owner, --before and --state. Notifications that were not
delivered are dropped. The ids of the messages stay in use, so that a late retry does not run twice.`,
  run: tasksDelete,
};

async function tasksDelete(context: CommandContext): Promise<number> {
  const filter = readFilter(context);
  const given =
    context.text("data") === undefined ? context.positionals.slice(1) : context.positionals;
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  if ((given.length === 0) !== isFiltered) {
    throw new UsageError(
      "convoke tasks delete needs either tasks, or --context, --owner, --before or --state.",
    );
  }
  const { StartError } = await import("../host/config.ts");
  try {
    const remover = await openRemover(context);
    try {
      return await deleteChosen(context, remover, given.length > 0 ? given : filter);
    } finally {
      await remover.close();
    }
  } catch (error) {
    if (!(error instanceof StartError) && !isDatabaseError(error)) throw error;
    note(context, error.message);
    return EXIT.notStarted.code;
  }
}

async function deleteChosen(
  context: CommandContext,
  remover: TaskRemover,
  chosen: readonly string[] | TaskFilter,
): Promise<number> {
  const cancel = context.flag("cancel");
  const tasks = isList(chosen)
    ? await Promise.all(chosen.map((id) => remover.find(id)))
    : await selected(remover, chosen);
  const meant = tasks.filter(({ isUnfinished }) => isList(chosen) || cancel || !isUnfinished);
  if (meant.length < tasks.length) {
    const left = tasksText(tasks.length - meant.length);
    note(context, `${left} unfinished, and not deleted without --cancel.`);
  }
  if (context.flag("dry-run")) return list(context, meant);
  if (meant.length === 0) {
    note(context, "There is no such task.");
    return EXIT.done.code;
  }
  if (!(await confirm(context, `Delete ${tasksText(meant.length)} for good?`))) {
    note(context, "Nothing was deleted.");
    return EXIT.interrupted.code;
  }
  const deleted: string[] = [];
  for (let start = 0; start < meant.length; start += BATCH) {
    const ids = meant.slice(start, start + BATCH).map(({ id }) => id);
    deleted.push(...(await remover.remove(ids, cancel)));
  }
  if (context.flag("json")) context.io.stdout(`${printableJson({ deleted })}\n`);
  else note(context, `Deleted ${tasksText(deleted.length)}.`);
  return EXIT.done.code;
}

async function selected(
  remover: TaskRemover,
  filter: TaskFilter,
): Promise<readonly DeletableTask[]> {
  const tasks: DeletableTask[] = [];
  for await (const task of remover.select(filter)) tasks.push(task);
  return tasks;
}

/** As many as one request may name. */
const BATCH = 100;

function list(context: CommandContext, tasks: readonly DeletableTask[]): number {
  const { io } = context;
  if (context.flag("json")) {
    io.stdout(`${printableJson({ tasks })}\n`);
    return EXIT.done.code;
  }
  const rows = tasks.map(({ id, state, statusAt, owner }) => [
    oneLine(id),
    oneLine(state),
    formatAge(statusAt, Date.now()),
    oneLine(owner),
  ]);
  if (rows.length > 0) {
    io.stdout(table(["TASK", "STATE", "AGE", "OWNER"], rows, coloursFor(io, "stdout")));
  }
  note(context, `${tasksText(tasks.length)} would be deleted.`);
  return EXIT.done.code;
}

function readFilter(context: CommandContext): TaskFilter {
  const before = context.text("before");
  if (before !== undefined && Number.isNaN(Date.parse(before))) {
    throw new UsageError(`--before must be a date such as 2026-01-31, not "${before}".`);
  }
  return {
    contextId: context.text("context"),
    owner: context.text("owner"),
    before: before === undefined ? undefined : Date.parse(before),
    state: readState(context),
  };
}

async function openRemover(context: CommandContext): Promise<TaskRemover> {
  const data = context.text("data");
  if (data !== undefined) {
    const { StoredTaskRemover } = await import("../logs/stored-task-remover.ts");
    return StoredTaskRemover.open(data, context.io);
  }
  const { ServerTaskRemover } = await import("../logs/server-task-remover.ts");
  return ServerTaskRemover.open(context);
}

function isList(chosen: readonly string[] | TaskFilter): chosen is readonly string[] {
  return Array.isArray(chosen);
}

function tasksText(count: number): string {
  return count === 1 ? "1 task" : `${count} tasks`;
}
