import { type Task, isTerminal, openApprovals } from "@convoke/protocol";
import { oneLine } from "@convoke/protocol/internal";
import { describeCard } from "../connect/describe-card.ts";
import { resolveTaskId } from "../connect/task-id.ts";
import { firstWords } from "../follow/outcome.ts";
import { didYouMean } from "../terminal/command-line.ts";
import { UsageError } from "../terminal/command.ts";
import { PLAIN, formatAge } from "../terminal/output.ts";
import type { Chat } from "./chat.ts";
import { saveFile } from "./files.ts";

/** A command that the agent offers, such as `/init`. It is sent as a message. */
export interface AgentCommand {
  /** With the slash. */
  readonly name: string;
  readonly help: string;
}

interface ChatCommand extends AgentCommand {
  readonly usage: string;
  /** False when the conversation ends. */
  run(chat: Chat, argument: string): Promise<boolean>;
}

const COMMANDS: readonly ChatCommand[] = [
  {
    name: "/help",
    usage: "/help",
    help: "show this help",
    run: async (chat) => {
      const all = [...COMMANDS, ...otherCommands(chat.commands).map(withUsage)];
      const width = Math.max(...all.map(({ usage }) => usage.length));
      for (const { usage, help } of all) {
        chat.note(`${oneLine(usage).padEnd(width)}  ${oneLine(help)}`);
      }
      for (const line of KEYS) chat.note(line);
      return true;
    },
  },
  {
    name: "/new",
    usage: "/new",
    help: "start a new conversation",
    run: async (chat) => {
      chat.beginAnew();
      chat.note("Started a new conversation.");
      return true;
    },
  },
  {
    name: "/task",
    usage: "/task",
    help: "show the state of the task",
    run: async (chat) => {
      const { taskId, lastTaskId, contextId } = chat.state;
      const id = taskId ?? lastTaskId;
      if (id === undefined) chat.note("There is no task yet.");
      else {
        const { status } = await chat.agent.get(id, { historyLength: 0 });
        chat.note(`task ${oneLine(id)} ${status.state}`);
      }
      if (contextId !== undefined) chat.note(`context ${oneLine(contextId)}`);
      return true;
    },
  },
  {
    name: "/tasks",
    usage: "/tasks",
    help: "list your newest tasks at this agent",
    run: async (chat) => {
      const tasks = await newestTasks(chat);
      if (tasks.length === 0) chat.note("You have no tasks at this agent.");
      for (const task of tasks) chat.note(taskLine(task, Date.now()));
      return true;
    },
  },
  {
    name: "/resume",
    usage: "/resume [task]",
    help: "continue a task, by default the newest unfinished one",
    run: async (chat, argument) => {
      await resume(chat, argument);
      return true;
    },
  },
  {
    name: "/approvals",
    usage: "/approvals",
    help: "list the tool calls that wait for your decision",
    run: async (chat) => {
      await listApprovals(chat);
      return true;
    },
  },
  {
    name: "/card",
    usage: "/card",
    help: "show the card of the agent",
    run: async (chat) => {
      for (const line of describeCard(chat.agent.card, PLAIN).trimEnd().split("\n"))
        chat.note(line);
      return true;
    },
  },
  {
    name: "/usage",
    usage: "/usage",
    help: "show the tokens and the cost so far",
    run: async (chat) => {
      chat.note(chat.usage.text ?? "The agent has reported no usage.");
      return true;
    },
  },
  {
    name: "/cancel",
    usage: "/cancel",
    help: "cancel the task that is waiting for you",
    run: async (chat) => {
      await chat.cancelTask();
      return true;
    },
  },
  {
    name: "/files",
    usage: "/files",
    help: "list the received files",
    run: async (chat) => {
      const { all } = chat.files;
      if (all.length === 0) chat.note("No files received.");
      for (const [place, { name, about }] of all.entries()) {
        chat.note(`[${place + 1}] ${oneLine(name)}: ${oneLine(about)}`);
      }
      return true;
    },
  },
  {
    name: "/save",
    usage: "/save [number] [path]",
    help: "save one file, or all, to the current folder or the path",
    run: async (chat, argument) => {
      await save(chat, argument);
      return true;
    },
  },
  {
    name: "/quit",
    usage: "/quit",
    help: "leave; you can continue the conversation later",
    run: async () => false,
  },
];

const KEYS = [
  "End a line with \\ to continue it on the next; at a terminal Alt+Enter works as well, and Tab completes commands.",
  "Start with // to send a line that begins with /.",
  "Ctrl+C cancels the running task; at the prompt it leaves the chat. Ctrl+D leaves, Ctrl+L clears the screen.",
];

/** The commands that a chat completes. */
export function completions(commands: readonly AgentCommand[]): readonly AgentCommand[] {
  return [...COMMANDS, ...otherCommands(commands)].map(({ name, help }) => ({ name, help }));
}

/** The commands of the agent that the chat does not handle itself. */
function otherCommands(commands: readonly AgentCommand[]): readonly AgentCommand[] {
  return commands.filter(({ name }) => COMMANDS.every((own) => own.name !== name));
}

/** Runs a line that starts with a slash. Returns false to leave the chat. */
export async function runChatCommand(line: string, chat: Chat): Promise<boolean> {
  const [, name = "", argument = ""] = /^(\/\S*)\s*(.*)$/s.exec(line) ?? [];
  const command = COMMANDS.find((candidate) => candidate.name === name);
  if (command !== undefined) return command.run(chat, argument.trim());
  if (chat.commands.some((candidate) => candidate.name === name)) {
    await chat.say(line);
    return true;
  }
  const names = completions(chat.commands).map((candidate) => candidate.name);
  throw new UsageError(
    `Unknown command ${oneLine(name)}.${didYouMean(name, names)} /help lists the commands; start with // to send a line that begins with /.`,
  );
}

function withUsage(command: AgentCommand): AgentCommand & Pick<ChatCommand, "usage"> {
  return { ...command, usage: command.name };
}

const MOST_TASKS = 10;

async function newestTasks({ agent, signal }: Chat): Promise<readonly Task[]> {
  const { tasks } = await agent.list({ pageSize: MOST_TASKS, signal });
  return tasks;
}

function taskLine(task: Task, now: number): string {
  const { id, status } = task;
  const age = formatAge(status.timestamp, now);
  return `${oneLine(id)}  ${status.state.padEnd(14)}  ${age.padStart(4)}  ${oneLine(firstWords(task), 40)}`;
}

async function resume(chat: Chat, argument: string): Promise<void> {
  const { agent, signal } = chat;
  if (argument !== "") {
    const taskId = await resolveTaskId(agent, argument, signal);
    return chat.resume(await agent.get(taskId, { historyLength: 0, signal }));
  }
  const tasks = await newestTasks(chat);
  const task = tasks.find(({ status }) => !isTerminal(status.state)) ?? tasks[0];
  if (task === undefined) throw new UsageError("You have no tasks at this agent.");
  chat.note(`Continuing ${taskLine(task, Date.now())}`);
  return chat.resume(task);
}

async function listApprovals(chat: Chat): Promise<void> {
  const { agent, signal } = chat;
  const { tasks } = await agent.list({ state: "input-required", pageSize: 100, signal });
  const open = tasks.flatMap((task) =>
    openApprovals(task, new Date()).map(({ title }) => ({ task, title })),
  );
  if (open.length === 0) return chat.note("No tool call waits for a decision.");
  for (const { task, title } of open) chat.note(`${oneLine(task.id)}  ${oneLine(title)}`);
  chat.note("/resume <task> shows one and lets you decide.");
}

async function save(chat: Chat, argument: string): Promise<void> {
  const { all } = chat.files;
  if (all.length === 0) throw new UsageError("There are no files to save.");
  const [, number = "", path = ""] = /^(\d*)\s*(.*)$/s.exec(argument) ?? [];
  if (number === "" && path !== "") {
    throw new UsageError("/save needs the number of the file before the path; /files lists them.");
  }
  const wanted = number === "" ? all : all.slice(Number(number) - 1, Number(number));
  if (wanted.length === 0 || number === "0") {
    throw new UsageError(`There is no file ${number}; /files lists them.`);
  }
  const { agent, signal } = chat;
  for (const file of wanted) {
    const saved = await saveFile(file, { agent, signal, path: path || undefined });
    chat.note(`Saved ${oneLine(saved)}`);
  }
}
