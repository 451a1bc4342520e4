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
    help: "show this",
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
    help: "begin a new conversation",
    run: async (chat) => {
      chat.beginAnew();
      chat.note("A new conversation.");
      return true;
    },
  },
  {
    name: "/task",
    usage: "/task",
    help: "show how the task stands",
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
    help: "cancel the task that waits for you",
    run: async (chat) => {
      await chat.cancelTask();
      return true;
    },
  },
  {
    name: "/files",
    usage: "/files",
    help: "list the files that came in",
    run: async (chat) => {
      const { all } = chat.files;
      if (all.length === 0) chat.note("No files came in.");
      for (const [place, { name, about }] of all.entries()) {
        chat.note(`[${place + 1}] ${oneLine(name)}: ${oneLine(about)}`);
      }
      return true;
    },
  },
  {
    name: "/save",
    usage: "/save [number] [path]",
    help: "save one file, or all of them, into this folder or as that path",
    run: async (chat, argument) => {
      save(chat, argument);
      return true;
    },
  },
  {
    name: "/quit",
    usage: "/quit",
    help: "leave; the conversation can be continued",
    run: async () => false,
  },
];

const KEYS = [
  "A line that ends with \\ goes on in the next one. // sends a line that begins with /.",
  "Ctrl+C cancels the task that the agent works on, and leaves at the prompt. Ctrl+D leaves.",
];

/** Does what a line that begins with a slash says. False when the conversation ends. */
export async function runChatCommand(line: string, chat: Chat): Promise<boolean> {
  const [, name = "", argument = ""] = /^(\/\S*)\s*(.*)$/s.exec(line) ?? [];
  const command = COMMANDS.find((candidate) => candidate.name === name);
  if (command !== undefined) return command.run(chat, argument.trim());
  const names = COMMANDS.map((candidate) => candidate.name);
  throw new UsageError(
    `There is no ${oneLine(name)}.${didYouMean(name, names)} /help lists what there is; // sends a line that begins with /.`,
  );
}

function save(chat: Chat, argument: string): void {
  const { all } = chat.files;
  if (all.length === 0) throw new UsageError("No files came in, so there is nothing to save.");
  const [, number = "", path = ""] = /^(\d*)\s*(.*)$/s.exec(argument) ?? [];
  if (number === "" && path !== "") {
    throw new UsageError("/save takes the number of a file before the path; /files lists them.");
  }
  const wanted = number === "" ? all : all.slice(Number(number) - 1, Number(number));
  if (wanted.length === 0 || number === "0") {
    throw new UsageError(`There is no file ${number}; /files lists them.`);
  }
  for (const file of wanted) chat.note(`Saved ${oneLine(saveFile(file, path || undefined))}`);
}
