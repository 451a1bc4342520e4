import {
  AGENT_ENVIRONMENT,
  OWNER_OPTION,
  SERVER_OPTIONS,
  readUrl,
} from "../connect/agent-options.ts";
import { type ExportFile, openExportFile } from "../logs/export-file.ts";
import { NOTES_OPTIONS, type TaskSource, readNotes } from "../logs/task-source.ts";
import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { note } from "../terminal/output.ts";
import { removedFormat } from "../terminal/removed.ts";
import { printableJson } from "@convoke/protocol/internal";

export const exportCommand: Command = {
  name: "export",
  summary: "Write tasks with their logs as JSON Lines, to a file or to stdout",
  usage: "[url] <task> | --all [options]",
  examples: [
    "convoke export http://127.0.0.1:3000 0198f3c2 --out task.jsonl",
    "convoke export http://127.0.0.1:3000 --all --out tasks.jsonl",
    "convoke export http://127.0.0.1:3000 --all --out tasks.jsonl --resume",
    "convoke export --data .convoke/my-agent --all | gzip > tasks.jsonl.gz",
  ],
  options: {
    all: { type: "boolean", help: "Every task, instead of one" },
    data: {
      type: "string",
      value: "<folder>",
      help: "Read a data folder that no server uses, instead of a running server",
    },
    format: {
      type: "string",
      value: "<format>",
      choices: ["jsonl"],
      help: "jsonl, one object per line, which is the only format",
    },
    out: { type: "string", value: "<file>", help: "Write to this file (default: stdout)" },
    resume: {
      type: "boolean",
      help: "Add to an earlier export in --out what is not in it yet",
    },
    ...NOTES_OPTIONS,
    ...OWNER_OPTION,
    ...SERVER_OPTIONS,
  },
  environment: {
    ...AGENT_ENVIRONMENT,
    CONVOKE_FILES: "With --data: where large files are, if they are not in the folder",
  },
  run: exportTasks,
};

async function exportTasks(context: CommandContext): Promise<number> {
  const { io } = context;
  checkFormat(context.text("format"));
  const taskId = readTask(context);
  const out = context.text("out");
  const isResumed = context.flag("resume");
  if (isResumed && out === undefined) throw new UsageError("--resume needs --out <file>.");
  const { StartError } = await import("../host/config.ts");
  try {
    const source = await openSource(context);
    try {
      const file = out === undefined ? { write: io.stdout } : openExportFile(out, isResumed);
      try {
        const count = await writeTasks(context, { source, file, taskId });
        if (out !== undefined) note(context, `Exported ${tasksText(count)} to ${out}.`);
      } finally {
        file.close?.();
      }
    } finally {
      await source.close();
    }
    return EXIT.done.code;
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    note(context, error.message);
    return EXIT.notStarted.code;
  }
}

function checkFormat(given = "jsonl"): void {
  if (given === "jsonl") return;
  throw new UsageError(removedFormat(given) ?? `--format must be jsonl, not "${given}".`);
}

/** The task to export; `undefined` for all. Without --data the address of the server comes first. */
function readTask(context: CommandContext): string | undefined {
  const { positionals, flag, text } = context;
  const isStored = text("data") !== undefined;
  if (!isStored) readUrl(context);
  const [taskId, more] = isStored ? positionals : positionals.slice(1);
  if (more !== undefined) throw new UsageError(`"${more}" is an unexpected argument.`);
  if ((taskId === undefined) !== flag("all")) {
    throw new UsageError("convoke export needs either a task id or --all.");
  }
  return taskId;
}

async function openSource(context: CommandContext): Promise<TaskSource> {
  const data = context.text("data");
  if (data !== undefined) {
    const { StoredTasks } = await import("../logs/stored-tasks.ts");
    const { readFiles } = await import("../host/file-settings.ts");
    return StoredTasks.open(data, readFiles(context.io.env).store);
  }
  const { ServerTasks } = await import("../logs/server-tasks.ts");
  return ServerTasks.open(context);
}

interface Exporting {
  readonly source: TaskSource;
  readonly file: ExportFile;
  readonly taskId: string | undefined;
}

/**
 * Writes a line with each task, then its events with the id of the task, one at a time, so that no
 * task is in memory as a whole. Returns the number of tasks that something was written of.
 */
async function writeTasks(
  context: CommandContext,
  { source, file, taskId }: Exporting,
): Promise<number> {
  const notes = readNotes(context);
  const ids = taskId === undefined ? source.ids() : [await source.find(taskId)];
  let count = 0;
  for await (const id of ids) {
    context.io.signal.throwIfAborted();
    const start = file.positions?.get(id);
    const { about, events } = await source.open(id, {
      notes,
      joinsChunks: false,
      after: start ?? 0,
    });
    if (start !== undefined && about["head"] === start) continue;
    count += 1;
    file.write(`${printableJson({ task: about })}\n`);
    for await (const item of events) {
      file.write(`${printableJson({ taskId: about["id"], ...item })}\n`);
    }
  }
  return count;
}

function tasksText(count: number): string {
  return count === 1 ? "1 task" : `${count} tasks`;
}
