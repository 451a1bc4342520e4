import { didYouMean } from "../terminal/command-line.ts";
import { oneLine } from "@convoke/protocol/internal";
import { UsageError } from "../terminal/command.ts";
import type { Chat } from "./chat.ts";
import { saveFile } from "./files.ts";

interface ChatCommand {
  readonly name: string;
  readonly usage: string;
  readonly help: string;
  /** False when the conversation ends. */
  run(chat: Chat, argument: string): Promise<boolean>;
}

const COMMANDS: readonly ChatCommand[] = [
  {
    name: "/help",
    usage: "/help",
    help: "show this help",
    run: async (chat) => {
      const width = Math.max(...COMMANDS.map(({ usage }) => usage.length));
      for (const { usage, help } of COMMANDS) chat.note(`${usage.padEnd(width)}  ${help}`);
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
    help: "save one file or all of them, to the current folder or to the path",
    run: async (chat, argument) => {
      save(chat, argument);
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
  "End a line with \\ to continue it on the next. Start it with // to send a line that begins with /.",
  "Ctrl+C cancels the running task; at the prompt it leaves the chat. Ctrl+D leaves.",
];

/** Runs a line that starts with a slash. Returns false to leave the chat. */
export async function runChatCommand(line: string, chat: Chat): Promise<boolean> {
  const [, name = "", argument = ""] = /^(\/\S*)\s*(.*)$/s.exec(line) ?? [];
  const command = COMMANDS.find((candidate) => candidate.name === name);
  if (command !== undefined) return command.run(chat, argument.trim());
  const names = COMMANDS.map((candidate) => candidate.name);
  throw new UsageError(
    `Unknown command ${oneLine(name)}.${didYouMean(name, names)} /help lists the commands; start with // to send a line that begins with /.`,
  );
}

function save(chat: Chat, argument: string): void {
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
  for (const file of wanted) chat.note(`Saved ${oneLine(saveFile(file, path || undefined))}`);
}
