import type { RemoteAgent } from "@convoke/client";
import { CODECS, type Task, textOfParts } from "@convoke/protocol";
import { oneLine, printable, printableJson } from "@convoke/protocol/internal";
import {
  AGENT_ENVIRONMENT,
  AGENT_OPTIONS,
  OWNER_OPTION,
  readHistory,
  readOwner,
  readTaskId,
  readUrl,
} from "../connect/agent-options.ts";
import { ReceivedFiles, saveFile } from "../chat/files.ts";
import { askServer, unreadable } from "../connect/ask-server.ts";
import { withAgent } from "../connect/connect-options.ts";
import { resolveTaskId } from "../connect/task-id.ts";
import { messageText } from "../follow/outcome.ts";
import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { type Colours, coloursFor, note, ownerText } from "../terminal/output.ts";

export const tasksShowCommand: Command = {
  name: "tasks show",
  summary: "Show a task: its state, its messages and its artifacts",
  usage: "<url> <task> [options]",
  examples: [
    "convoke tasks show http://127.0.0.1:3000 0198f3c2",
    "convoke tasks show http://127.0.0.1:3000 0198f3c2 --json | jq .status",
    "convoke tasks show http://127.0.0.1:3000 0198f3c2 --save",
    "convoke tasks show http://127.0.0.1:3000 01998f2e-63bd-7c4a-a1d2-0f3d6e1c7b55 --owner '*'",
  ],
  options: {
    save: { type: "boolean", help: "Save the files of its artifacts to the current folder" },
    history: { type: "string", value: "<n>", help: "Maximum number of messages" },
    ...OWNER_OPTION,
    ...AGENT_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: tasksShow,
};

async function tasksShow(context: CommandContext): Promise<number> {
  const { io } = context;
  readUrl(context);
  const taskId = readTaskId(context);
  if (taskId === undefined) throw new UsageError("The task id is missing.");
  const isOfAll = readOwner(context)["owner"] !== undefined;
  if (isOfAll && context.flag("save")) {
    throw new UsageError("--save cannot be combined with --owner.");
  }
  const { task, owner } = isOfAll
    ? await readOfAnyOwner(context, taskId)
    : { task: await readOwn(context, taskId), owner: "" };
  io.stdout(
    context.flag("json")
      ? `${printableJson(task)}\n`
      : describeTask(task, owner, coloursFor(io, "stdout")),
  );
  return EXIT.done.code;
}

/** One of the user's tasks, of any A2A agent. */
function readOwn(context: CommandContext, taskId: string): Promise<Task> {
  const { signal } = context.io;
  const historyLength = readHistory(context.text("history"));
  return withAgent(context, async (agent) => {
    const id = await resolveTaskId(agent, taskId, signal);
    const task = await agent.get(id, {
      signal,
      ...(historyLength !== undefined && { historyLength }),
    });
    if (context.flag("save")) await saveFiles(context, task, agent);
    return task;
  });
}

/** Saves the files of a task's artifacts. Those that the agent sent as links are fetched. */
async function saveFiles(
  context: CommandContext,
  task: Task,
  agent: Pick<RemoteAgent, "readFile" | "url">,
): Promise<void> {
  const files = new ReceivedFiles();
  files.add(task);
  for (const file of files.all) {
    const path = await saveFile(file, { agent, signal: context.io.signal });
    note(context, `Saved ${oneLine(path)}`);
  }
}

/** A task of any owner, through the admin API of Convoke servers. */
async function readOfAnyOwner(
  context: CommandContext,
  taskId: string,
): Promise<{ readonly task: Task; readonly owner: string }> {
  const historyLength = readHistory(context.text("history"));
  const answer = await askServer(context, {
    path: `/convoke/tasks/${encodeURIComponent(taskId)}`,
    query: {
      ...readOwner(context),
      ...(historyLength !== undefined && { historyLength: String(historyLength) }),
    },
    about: "tasks",
  });
  if (answer["task"] === undefined) throw unreadable("has no task");
  return { task: CODECS["0.3"].decodeTask(answer["task"]), owner: ownerText(answer) };
}

function describeTask(task: Task, owner: string, { dim, bold }: Colours): string {
  const { id, contextId, status, history = [], artifacts = [] } = task;
  const said = messageText(status.message);
  const lines = [
    `${bold(oneLine(id))} ${status.state}${said === "" ? "" : `: ${oneLine(said)}`}`,
    dim(`context ${oneLine(contextId)}${owner === "" ? "" : `, owner ${oneLine(owner)}`}`),
    ...history.map(({ role, parts }) => `${bold(`${role}:`)} ${printable(textOfParts(parts))}`),
    ...artifacts.map(
      ({ artifactId, name, parts }) =>
        `${bold(`artifact ${oneLine(name ?? artifactId)}:`)} ${printable(textOfParts(parts))}`,
    ),
  ];
  return `${lines.join("\n")}\n`;
}
