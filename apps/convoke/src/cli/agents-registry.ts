import { parseRegistryEntry } from "@convoke/client";
import type { RegistryEntry } from "@convoke/protocol";
import { oneLine, printableJson } from "@convoke/protocol/internal";
import {
  AGENT_ENVIRONMENT,
  OWNER_OPTION,
  SERVER_OPTIONS,
  readOwner,
  readUrl,
} from "../connect/agent-options.ts";
import { askServer, unreadable } from "../connect/ask-server.ts";
import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { commandLine } from "../terminal/command-line.ts";
import { textField } from "../terminal/json-fields.ts";
import { coloursFor } from "../terminal/output.ts";

const PATH = "/convoke/registry";

const ABOUT = "registered agents";

/** An entry as the server reports it, and as far as it can be understood. */
export interface RegistryReport {
  readonly report: Readonly<Record<string, unknown>>;
  readonly entry: RegistryEntry;
}

/** All entries of a registry that match a query. */
export async function searchRegistry(
  context: CommandContext,
  query: Readonly<Record<string, string | readonly string[]>> = {},
): Promise<readonly RegistryReport[]> {
  const all: RegistryReport[] = [];
  for (let pageToken = ""; ;) {
    const asked = { ...query, ...readOwner(context), ...(pageToken !== "" && { pageToken }) };
    const page = await askServer(context, { path: PATH, query: asked, about: ABOUT });
    if (!Array.isArray(page["agents"])) throw unreadable("has no list of agents");
    for (const report of page["agents"] as readonly RegistryReport["report"][]) {
      const entry = parseRegistryEntry(report);
      if (entry !== undefined) all.push({ report, entry });
    }
    const next = textField(page, "nextPageToken");
    // A repeated token would loop forever.
    if (next === "" || next === pageToken) return all;
    pageToken = next;
  }
}

export const agentsRegisterCommand: Command = {
  name: "agents register",
  summary: "Register an agent, or refresh its entry",
  usage: "<url> <agent-url> [options]",
  examples: [
    "convoke agents register https://agents.example.com https://poet.example.com",
    'convoke agents register https://agents.example.com https://poet.example.com --name "Our poet" --tag fast',
  ],
  options: {
    name: { type: "string", value: "<name>", help: "The name in the registry (that of its card)" },
    tag: { type: "string", value: "<tag>", multiple: true, help: "A tag; can be repeated" },
    ...SERVER_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  more: "The server reads the card of the agent itself. The agent is inactive after 24 hours without a heartbeat.",
  run: async (context) => {
    const [, url = "", ...more] = context.positionals;
    rejectMore(more);
    if (url === "") throw new UsageError("The address of the agent to register is missing.");
    const name = context.text("name");
    const tags = context.texts("tag");
    const body = { url, ...(name !== undefined && { name }), tags };
    const answer = await askServer(context, { path: PATH, body, about: ABOUT });
    const id = textField(answer, "id");
    print(context, answer, id);
    if (!context.flag("json")) {
      const line = commandLine(context, "agents heartbeat", [id]);
      context.io.stderr(
        `${coloursFor(context.io, "stderr").dim(`Keep it active with: ${line}`)}\n`,
      );
    }
    return EXIT.done.code;
  },
};

export const agentsHeartbeatCommand: Command = {
  name: "agents heartbeat",
  summary: "Say that a registered agent is still there",
  usage: "<url> <id> [options]",
  examples: [
    "convoke agents heartbeat https://agents.example.com 6f0c2a1e-7a0b-4a53-9a3a-8f6d1f0a5b11",
    "convoke agents heartbeat https://agents.example.com 6f0c2a1e-7a0b-4a53-9a3a-8f6d1f0a5b11 --open-tasks 3",
  ],
  options: {
    "open-tasks": { type: "string", value: "<n>", help: "How many tasks it is working on" },
    ...OWNER_OPTION,
    ...SERVER_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: async (context) => {
    const id = readId(context);
    const openTasks = context.text("open-tasks");
    if (openTasks !== undefined && !/^\d{1,9}$/.test(openTasks)) {
      throw new UsageError(`--open-tasks must be a number, 0 or more, not "${openTasks}".`);
    }
    const body = openTasks === undefined ? {} : { openTasks: Number(openTasks) };
    const answer = await askEntry(context, id, { action: "heartbeat", body });
    print(context, answer, `Active: ${oneLine(textField(answer, "name"))}`);
    return EXIT.done.code;
  },
};

export const agentsReportCommand: Command = {
  name: "agents report",
  summary: "Report how a call of a registered agent ended",
  usage: "<url> <id> --succeeded | --failed [options]",
  examples: [
    "convoke agents report https://agents.example.com 6f0c2a1e-7a0b-4a53-9a3a-8f6d1f0a5b11 --failed",
  ],
  options: {
    succeeded: { type: "boolean", help: "The call succeeded" },
    failed: { type: "boolean", help: "The call failed" },
    ...SERVER_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  more: "convoke agents route prefers agents whose calls succeed. The owner of an entry cannot report.",
  run: async (context) => {
    const id = readId(context);
    if (context.flag("succeeded") === context.flag("failed")) {
      throw new UsageError("Give exactly one of --succeeded and --failed.");
    }
    const outcome = context.flag("failed") ? "failed" : "succeeded";
    const answer = await askEntry(context, id, { action: "report", body: { outcome } });
    print(context, answer, `Reported: ${oneLine(textField(answer, "name"))} ${outcome}`);
    return EXIT.done.code;
  },
};

export const agentsRemoveCommand: Command = {
  name: "agents remove",
  summary: "Remove an agent from a registry",
  usage: "<url> <id> [options]",
  examples: [
    "convoke agents remove https://agents.example.com 6f0c2a1e-7a0b-4a53-9a3a-8f6d1f0a5b11",
  ],
  options: { ...OWNER_OPTION, ...SERVER_OPTIONS },
  environment: AGENT_ENVIRONMENT,
  run: async (context) => {
    const id = readId(context);
    const answer = await askEntry(context, id, { method: "DELETE" });
    print(context, answer, `Removed: ${oneLine(id)}`);
    return EXIT.done.code;
  },
};

/** The id of an entry in the second argument. */
function readId(context: CommandContext): string {
  readUrl(context);
  const [, id = "", ...more] = context.positionals;
  rejectMore(more);
  if (id !== "") return id;
  const line = commandLine(context, "agents", []);
  throw new UsageError(`The id of the registered agent is missing; ${line} shows them.`);
}

function rejectMore([extra]: readonly string[]): void {
  if (extra !== undefined) throw new UsageError(`"${extra}" is an unexpected argument.`);
}

interface EntryRequest {
  readonly action?: "heartbeat" | "report";
  readonly body?: object;
  readonly method?: "DELETE";
}

function askEntry(
  context: CommandContext,
  id: string,
  { action, ...request }: EntryRequest,
): ReturnType<typeof askServer> {
  const path = `${PATH}/${encodeURIComponent(id)}${action === undefined ? "" : `:${action}`}`;
  return askServer(context, { path, query: readOwner(context), ...request, about: ABOUT });
}

function print({ io, flag }: CommandContext, answer: object, line: string): void {
  io.stdout(`${flag("json") ? printableJson(answer) : line}\n`);
}
