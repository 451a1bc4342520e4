import {
  type Command,
  type CommandContext,
  type CommandGroup,
  EXIT,
  UsageError,
} from "../terminal/command.ts";
import { askServer, readReports, unreadable } from "../connect/ask-server.ts";
import { type Colours, coloursFor, formatAge, note, ownerText, table } from "../terminal/output.ts";
import { textField } from "../terminal/json-fields.ts";
import { oneLine, printableJson } from "@convoke/protocol/internal";
import {
  AGENT_ENVIRONMENT,
  AGENT_OPTIONS,
  OWNER_OPTION,
  SERVER_OPTIONS,
  ownerWords,
  readOwner,
  readTaskId,
  readUrl,
  rejectMoreArguments,
} from "../connect/agent-options.ts";
import { commandLine, didYouMean } from "../terminal/command-line.ts";
import type { PushConfig, PushTarget } from "@convoke/protocol";
import { withAgent } from "../connect/connect-options.ts";
import { resolveTaskId } from "../connect/task-id.ts";

async function pushSet(context: CommandContext): Promise<number> {
  const { io } = context;
  readUrl(context);
  const { taskId, target } = readTarget(context);
  const config = await withAgent(context, async (agent) =>
    agent.push.set(await resolveTaskId(agent, taskId, io.signal), target, { signal: io.signal }),
  );
  if (context.flag("json")) {
    io.stdout(`${printableJson(config)}\n`);
    return EXIT.done.code;
  }
  io.stdout(`${config.id}\n`);
  const line = commandLine(context, "push delete", [taskId, config.id]);
  io.stderr(`${coloursFor(io, "stderr").dim(`Stop it with: ${line}`)}\n`);
  return EXIT.done.code;
}

function readTarget({ positionals, text }: CommandContext): {
  readonly taskId: string;
  readonly target: PushTarget;
} {
  const [, taskId = "", url, ...more] = positionals;
  if (taskId === "") throw new UsageError("The task id is missing.");
  if (url === undefined) throw new UsageError("The address of the webhook is missing.");
  if (more.length > 0) throw new UsageError(`"${more[0]}" is an unexpected argument.`);
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

async function pushShow(context: CommandContext): Promise<number> {
  const { io } = context;
  readUrl(context);
  const taskId = readTaskId(context);
  if (taskId === undefined) throw new UsageError("The task id is missing.");
  const configs = await withAgent(context, async (agent) =>
    agent.push.list(await resolveTaskId(agent, taskId, io.signal), { signal: io.signal }),
  );
  if (context.flag("json")) io.stdout(`${printableJson({ configs })}\n`);
  else if (configs.length > 0) io.stdout(configTable(configs, context));
  else io.stderr(`${coloursFor(io, "stderr").dim("Its updates are pushed nowhere.")}\n`);
  return EXIT.done.code;
}

function configTable(configs: readonly PushConfig[], { io }: CommandContext): string {
  const rows = configs.map(({ id, url }) => [oneLine(id), oneLine(url)]);
  return table(["CONFIG", "WEBHOOK"], rows, coloursFor(io, "stdout"));
}

/** The message if there are none in the state. */
const EMPTY: Readonly<Record<string, string>> = {
  dead: "No failed deliveries.",
  active: "No deliveries in progress.",
  done: "No completed deliveries.",
};

async function pushList(context: CommandContext): Promise<number> {
  const { io } = context;
  rejectMoreArguments(context);
  const state = readState(context.text("state"));
  const pushes = await listPushes(context, state);
  if (context.flag("json")) {
    io.stdout(`${printableJson({ pushes })}\n`);
    return EXIT.done.code;
  }
  const { dim } = coloursFor(io, "stderr");
  if (pushes.length === 0) io.stderr(`${dim(EMPTY[state] ?? "")}\n`);
  else io.stdout(pushTable(pushes, Date.now(), coloursFor(io, "stdout")));
  if (pushes.length > 0 && state === "dead") {
    io.stderr(
      `${dim(`Retry them with: ${commandLine(context, "push replay", ownerWords(context))}`)}\n`,
    );
  }
  return EXIT.done.code;
}

const STATES = Object.keys(EMPTY);

function readState(value = "dead"): string {
  if (STATES.includes(value)) return value;
  throw new UsageError(
    `--state must be one of ${STATES.join(", ")}, not "${value}".${didYouMean(value, STATES)}`,
  );
}

const HEADS = ["TASK", "CONFIG", "RECEIVER", "FAILING FOR", "WHY"] as const;

/** Push configs as an aligned table. Ids are whole, because they are there to be copied. */
export function pushTable(pushes: readonly PushReport[], now: number, colours: Colours): string {
  const isOfAll = pushes.some((push) => ownerText(push) !== "");
  const rows = pushes.map((push) => {
    const since = textField(push, "failingSince");
    return [
      oneLine(textField(push, "taskId")),
      oneLine(textField(push, "id")),
      oneLine(textField(push, "url")),
      since === "" ? "" : formatAge(since, now),
      oneLine(textField(push, "problem"), LONGEST_PROBLEM),
      ...(isOfAll ? [oneLine(ownerText(push))] : []),
    ];
  });
  return table([...HEADS, ...(isOfAll ? ["OWNER"] : [])], rows, colours);
}

async function pushReplay(context: CommandContext): Promise<number> {
  const { io } = context;
  rejectMoreArguments(context);
  const taskId = context.text("task");
  const id = context.text("id");
  const replayed = await replayPushes(context, {
    ...(taskId !== undefined && { taskId }),
    ...(id !== undefined && { id }),
  });
  const isNarrowed = taskId !== undefined || id !== undefined;
  io.stdout(
    context.flag("json") ? `${printableJson({ replayed })}\n` : `${told(replayed, isNarrowed)}\n`,
  );
  return EXIT.done.code;
}

function told(replayed: number, isNarrowed: boolean): string {
  if (replayed === 1) return "Retrying 1 push config.";
  if (replayed > 1) return `Retrying ${replayed} push configs.`;
  return isNarrowed ? "No failed deliveries of that kind." : "No failed deliveries.";
}

async function pushDelete(context: CommandContext): Promise<number> {
  readUrl(context);
  const [, taskId = "", id = "", ...more] = context.positionals;
  if (taskId === "") throw new UsageError("The task id is missing.");
  if (id === "") {
    throw new UsageError("The id of the push config is missing; convoke push show lists them.");
  }
  if (more.length > 0) throw new UsageError(`"${more[0]}" is an unexpected argument.`);
  const { signal } = context.io;
  await withAgent(context, async (agent) =>
    agent.push.delete(await resolveTaskId(agent, taskId, signal), id, { signal }),
  );
  note(context, `Deleted the push config ${id}.`);
  return EXIT.done.code;
}

const pushDeleteCommand: Command = {
  name: "push delete",
  summary: "Stop pushing the updates of a task to a webhook",
  usage: "<url> <task> <config> [options]",
  examples: ["convoke push delete http://127.0.0.1:3000 0198f3c2 mine"],
  options: AGENT_OPTIONS,
  environment: AGENT_ENVIRONMENT,
  run: pushDelete,
};

const pushReplayCommand: Command = {
  name: "push replay",
  summary: "Retry failed push notifications",
  usage: "<url> [options]",
  examples: [
    "convoke push replay http://127.0.0.1:3000",
    "convoke push replay http://127.0.0.1:3000 --task 0198f3c2",
    "convoke push replay http://127.0.0.1:3000 --task 0198f3c2 --id my-hook",
  ],
  options: {
    task: { type: "string", value: "<id>", help: "Only those of this task" },
    id: { type: "string", value: "<config>", help: "Only those of push configs with this id" },
    ...OWNER_OPTION,
    ...SERVER_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: pushReplay,
};

const pushListCommand: Command = {
  name: "push list",
  summary: "List push configs whose deliveries failed",
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
      choices: STATES,
      help: `List those in this state: ${STATES.join(", ")} (default: dead, those that failed)`,
    },
    ...OWNER_OPTION,
    ...SERVER_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: pushList,
};

const pushShowCommand: Command = {
  name: "push show",
  summary: "Show the webhooks of a task",
  usage: "<url> <task> [options]",
  examples: [
    "convoke push show http://127.0.0.1:3000 0198f3c2",
    "convoke push show http://127.0.0.1:3000 0198f3c2 --json | jq '.configs[].url'",
  ],
  options: AGENT_OPTIONS,
  environment: AGENT_ENVIRONMENT,
  run: pushShow,
};

const pushSetCommand: Command = {
  name: "push set",
  summary: "Push the updates of a task to a webhook",
  usage: "<url> <task> <webhook> [options]",
  examples: [
    "convoke push set http://127.0.0.1:3000 0198f3c2 https://hooks.example/a2a",
    "convoke push set http://127.0.0.1:3000 0198f3c2 https://hooks.example/a2a --id mine --receipt secret",
  ],
  options: {
    id: {
      type: "string",
      value: "<config>",
      help: "The id of the push config; replaces an existing one (default: chosen by the agent)",
    },
    receipt: {
      type: "string",
      value: "<token>",
      help: "A token that each notification carries, so that the webhook can verify it",
    },
    ...AGENT_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: pushSet,
};

export const pushCommands: CommandGroup = {
  name: "push",
  summary: "Push updates of tasks to a webhook, and retry failed deliveries",
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

/** A push config as the server reports it, not validated. */
export type PushReport = Readonly<Record<string, unknown>>;

/** The push configs of the caller, or of all owners, in one state. */
export async function listPushes(
  context: CommandContext,
  state: string,
): Promise<readonly PushReport[]> {
  const query = { state, ...readOwner(context) };
  return readReports(context, { path: "/convoke/pushes", query, about: ABOUT, name: "pushes" });
}

/** Retries failed deliveries. Returns the number of configs. */
export async function replayPushes(
  context: CommandContext,
  which: { readonly taskId?: string; readonly id?: string },
): Promise<number> {
  const path = "/convoke/pushes:replay";
  const query = readOwner(context);
  const { replayed } = await askServer(context, { path, query, body: which, about: ABOUT });
  if (typeof replayed === "number") return replayed;
  throw unreadable("does not say how many pushes are retried");
}
