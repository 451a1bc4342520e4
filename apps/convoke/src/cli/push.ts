import {
  type Command,
  type CommandContext,
  type CommandGroup,
  EXIT,
  UsageError,
} from "../terminal/command.ts";
import { askServer, unreadable } from "../connect/ask-server.ts";
import { type Colours, ageOf, coloursFor, note, table } from "../terminal/output.ts";
import { textField } from "../terminal/json-fields.ts";
import { oneLine } from "@convoke/protocol/internal";
import {
  AGENT_ENVIRONMENT,
  AGENT_OPTIONS,
  SERVER_OPTIONS,
  refuseText,
  taskArgument,
  urlOf,
} from "../connect/agent-options.ts";
import { commandLine, didYouMean } from "../terminal/command-line.ts";
import type { PushConfig, PushTarget } from "@convoke/protocol";
import { withAgent } from "../connect/connect-options.ts";

const pushSetCommand: Command = {
  name: "push set",
  summary: "Have the updates of a task pushed to a webhook",
  usage: "<url> <task> <webhook> [options]",
  examples: [
    "convoke push set http://127.0.0.1:3000 0198f3c2 https://hooks.example/a2a",
    "convoke push set http://127.0.0.1:3000 0198f3c2 https://hooks.example/a2a --id mine --receipt secret",
  ],
  options: {
    id: {
      type: "string",
      value: "<config>",
      help: "The id of the push config; one that exists is replaced (default: the agent chooses)",
    },
    receipt: {
      type: "string",
      value: "<token>",
      help: "A token that each notification brings back, so that the webhook knows it was asked for",
    },
    ...AGENT_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: pushSet,
};

async function pushSet(context: CommandContext): Promise<number> {
  const { io } = context;
  urlOf(context);
  const { taskId, target } = readTarget(context);
  const config = await withAgent(context, (agent) =>
    agent.push.set(taskId, target, { signal: io.signal }),
  );
  if (context.flag("json")) {
    io.stdout(`${JSON.stringify(config)}\n`);
    return EXIT.done.code;
  }
  io.stdout(`${config.id}\n`);
  const line = commandLine(context, "push delete", [taskId, config.id]);
  io.stderr(`${coloursFor(io, "stderr").dim(`End it with: ${line}`)}\n`);
  return EXIT.done.code;
}

function readTarget({ positionals, text }: CommandContext): {
  readonly taskId: string;
  readonly target: PushTarget;
} {
  const [, taskId = "", url, ...more] = positionals;
  if (taskId === "") throw new UsageError("The id of the task is missing.");
  if (url === undefined) throw new UsageError("The address of the webhook is missing.");
  if (more.length > 0) throw new UsageError(`"${more[0]}" is one argument too many.`);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(`The webhook "${url}" is not an http or https address.`);
  }
  const id = text("id");
  const token = text("receipt");
  return {
    taskId,
    target: { url, ...(id !== undefined && { id }), ...(token !== undefined && { token }) },
  };
}

const pushShowCommand: Command = {
  name: "push show",
  summary: "Show where the updates of a task are pushed to",
  usage: "<url> <task> [options]",
  examples: [
    "convoke push show http://127.0.0.1:3000 0198f3c2",
    "convoke push show http://127.0.0.1:3000 0198f3c2 --json | jq '.configs[].url'",
  ],
  options: AGENT_OPTIONS,
  environment: AGENT_ENVIRONMENT,
  run: pushShow,
};

async function pushShow(context: CommandContext): Promise<number> {
  const { io } = context;
  urlOf(context);
  const taskId = taskArgument(context);
  if (taskId === undefined) throw new UsageError("The id of the task is missing.");
  const configs = await withAgent(context, (agent) =>
    agent.push.list(taskId, { signal: io.signal }),
  );
  if (context.flag("json")) io.stdout(`${JSON.stringify({ configs })}\n`);
  else if (configs.length > 0) io.stdout(configTable(configs, context));
  else io.stderr(`${coloursFor(io, "stderr").dim("Its updates are pushed nowhere.")}\n`);
  return EXIT.done.code;
}

function configTable(configs: readonly PushConfig[], { io }: CommandContext): string {
  const rows = configs.map(({ id, url }) => [oneLine(id), oneLine(url)]);
  return table(["CONFIG", "WEBHOOK"], rows, coloursFor(io, "stdout"));
}

/** What is said when there are none in the state. */
const EMPTY: Readonly<Record<string, string>> = {
  dead: "Nothing was given up.",
  active: "Nothing is on its way.",
  done: "Nothing was delivered to its end.",
};
const STATES = Object.keys(EMPTY);

const pushListCommand: Command = {
  name: "push list",
  summary: "List the push notifications that were given up",
  usage: "<url> [options]",
  examples: [
    "convoke push list http://127.0.0.1:3000",
    "convoke push list http://127.0.0.1:3000 --state active",
    "convoke push list http://127.0.0.1:3000 --json | jq '.pushes[].problem'",
  ],
  options: {
    state: {
      type: "string",
      value: "<state>",
      help: `Those in this state: ${STATES.join(", ")} (default: dead, which are given up)`,
    },
    ...SERVER_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: pushList,
};

async function pushList(context: CommandContext): Promise<number> {
  const { io } = context;
  refuseText(context);
  const state = readState(context.text("state"));
  const pushes = await listPushes(context, state);
  if (context.flag("json")) {
    io.stdout(`${JSON.stringify({ pushes })}\n`);
    return EXIT.done.code;
  }
  const { dim } = coloursFor(io, "stderr");
  if (pushes.length === 0) io.stderr(`${dim(EMPTY[state] ?? "")}\n`);
  else io.stdout(pushTable(pushes, Date.now(), coloursFor(io, "stdout")));
  if (pushes.length > 0 && state === "dead") {
    io.stderr(`${dim(`Try them again with: ${commandLine(context, "push replay", [])}`)}\n`);
  }
  return EXIT.done.code;
}

function readState(value = "dead"): string {
  if (STATES.includes(value)) return value;
  throw new UsageError(
    `--state must be one of ${STATES.join(", ")}, not "${value}".${didYouMean(value, STATES)}`,
  );
}

const HEADS = ["TASK", "CONFIG", "RECEIVER", "FAILING FOR", "WHY"] as const;

/** Push configs as an aligned table. Ids are whole, because they are there to be copied. */
export function pushTable(pushes: readonly PushReport[], now: number, colours: Colours): string {
  const rows = pushes.map((push) => {
    const since = textField(push, "failingSince");
    return [
      oneLine(textField(push, "taskId")),
      oneLine(textField(push, "id")),
      oneLine(textField(push, "url")),
      since === "" ? "" : ageOf(since, now),
      oneLine(textField(push, "problem"), LONGEST_PROBLEM),
    ];
  });
  return table(HEADS, rows, colours);
}

const pushReplayCommand: Command = {
  name: "push replay",
  summary: "Try again the push notifications that were given up",
  usage: "<url> [options]",
  examples: [
    "convoke push replay http://127.0.0.1:3000",
    "convoke push replay http://127.0.0.1:3000 --task 0198f3c2",
    "convoke push replay http://127.0.0.1:3000 --task 0198f3c2 --id my-hook",
  ],
  options: {
    task: { type: "string", value: "<id>", help: "Only those of this task" },
    id: { type: "string", value: "<config>", help: "Only those of push configs with this id" },
    ...SERVER_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: pushReplay,
};

async function pushReplay(context: CommandContext): Promise<number> {
  const { io } = context;
  refuseText(context);
  const taskId = context.text("task");
  const id = context.text("id");
  const replayed = await replayPushes(context, {
    ...(taskId !== undefined && { taskId }),
    ...(id !== undefined && { id }),
  });
  const isNarrowed = taskId !== undefined || id !== undefined;
  io.stdout(
    context.flag("json") ? `${JSON.stringify({ replayed })}\n` : `${told(replayed, isNarrowed)}\n`,
  );
  return EXIT.done.code;
}

function told(replayed: number, isNarrowed: boolean): string {
  if (replayed === 1) return "1 push config is tried again.";
  if (replayed > 1) return `${replayed} push configs are tried again.`;
  return isNarrowed ? "Nothing of that was given up." : "Nothing was given up.";
}

const pushDeleteCommand: Command = {
  name: "push delete",
  summary: "End the pushing of a task's updates to a webhook",
  usage: "<url> <task> <config> [options]",
  examples: ["convoke push delete http://127.0.0.1:3000 0198f3c2 mine"],
  options: AGENT_OPTIONS,
  environment: AGENT_ENVIRONMENT,
  run: pushDelete,
};

async function pushDelete(context: CommandContext): Promise<number> {
  urlOf(context);
  const [, taskId = "", id = "", ...more] = context.positionals;
  if (taskId === "") throw new UsageError("The id of the task is missing.");
  if (id === "") {
    throw new UsageError("The id of the push config is missing; convoke push show lists them.");
  }
  if (more.length > 0) throw new UsageError(`"${more[0]}" is one argument too many.`);
  const { signal } = context.io;
  await withAgent(context, (agent) => agent.push.delete(taskId, id, { signal }));
  note(context, `Nothing is pushed by ${id} any more.`);
  return EXIT.done.code;
}

export const pushCommands: CommandGroup = {
  name: "push",
  summary: "Have updates pushed to a webhook; see what was given up, and try it again",
  commands: [
    pushSetCommand,
    pushShowCommand,
    pushDeleteCommand,
    pushListCommand,
    pushReplayCommand,
  ],
};

const ABOUT = "pushes";

const LONGEST_PROBLEM = 80;

/** What the server says about one push config; nobody has checked it. */
export type PushReport = Readonly<Record<string, unknown>>;

/** The push configs of the caller in one state. */
export async function listPushes(
  context: CommandContext,
  state: string,
): Promise<readonly PushReport[]> {
  const path = `/convoke/pushes?state=${encodeURIComponent(state)}`;
  const { pushes } = await askServer(context, { path, about: ABOUT });
  if (Array.isArray(pushes)) return pushes as readonly PushReport[];
  throw unreadable("names no pushes");
}

/** Tries again what was given up, and gives how many configs that are. */
export async function replayPushes(
  context: CommandContext,
  which: { readonly taskId?: string; readonly id?: string },
): Promise<number> {
  const path = "/convoke/pushes:replay";
  const { replayed } = await askServer(context, { path, body: which, about: ABOUT });
  if (typeof replayed === "number") return replayed;
  throw unreadable("does not say how many pushes it tries again");
}
