import { type RankedAgent, type RegistryEntry, type Route, routeToAgent } from "@convoke/client";
import { oneLine, printableJson } from "@convoke/protocol/internal";
import {
  AGENT_ENVIRONMENT,
  OWNER_OPTION,
  SERVER_OPTIONS,
  rejectMoreArguments,
} from "../connect/agent-options.ts";
import {
  type Command,
  type CommandContext,
  type CommandOption,
  EXIT,
  UsageError,
} from "../terminal/command.ts";
import { didYouMean } from "../terminal/command-line.ts";
import { type Colours, coloursFor, formatAge, ownerText, table } from "../terminal/output.ts";
import { type RegistryReport, searchRegistry } from "./agents-registry.ts";

const STATES = ["active", "inactive"];

const CAPABILITY_OPTIONS = {
  skill: { type: "string", value: "<skill>", help: "The id or name of a skill" },
  tag: {
    type: "string",
    value: "<tag>",
    multiple: true,
    help: "A tag of the agent or of one of its skills; can be repeated",
  },
  text: { type: "string", value: "<words>", help: "Words in its names, descriptions and tags" },
} as const satisfies Record<string, CommandOption>;

export const agentsSearchCommand: Command = {
  name: "agents search",
  summary: "Find registered agents by skill, tag or text",
  usage: "<url> [options]",
  examples: [
    "convoke agents search https://agents.example.com --skill translate",
    'convoke agents search https://agents.example.com --tag poetry --text "french"',
    "convoke agents search https://agents.example.com --state inactive --json | jq '.agents[].url'",
  ],
  options: {
    ...CAPABILITY_OPTIONS,
    state: {
      type: "string",
      value: "<state>",
      choices: STATES,
      help: "active or inactive (default: both)",
    },
    ...OWNER_OPTION,
    ...SERVER_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: search,
};

async function search(context: CommandContext): Promise<number> {
  const { io } = context;
  rejectMoreArguments(context);
  const { skill, tags, text } = readCapabilities(context);
  const state = context.text("state");
  if (state !== undefined && !STATES.includes(state)) {
    throw new UsageError(
      `--state must be one of ${STATES.join(", ")}, not "${state}".${didYouMean(state, STATES)}`,
    );
  }
  const found = await searchRegistry(context, {
    ...(skill !== undefined && { skill }),
    tag: tags,
    ...(text !== undefined && { text }),
    ...(state !== undefined && { state }),
  });
  if (context.flag("json")) {
    io.stdout(`${printableJson({ agents: found.map(({ report }) => report) })}\n`);
  } else if (found.length > 0) {
    io.stdout(registryTable(found, Date.now(), coloursFor(io, "stdout")));
  } else {
    io.stderr(`${coloursFor(io, "stderr").dim("No registered agent matches.")}\n`);
  }
  return EXIT.done.code;
}

const HEADS = ["ID", "NAME", "URL", "STATE", "HEARTBEAT", "HEALTH", "SKILLS"] as const;

const LONGEST_SKILLS = 60;

/** Registered agents as a table. Ids are not shortened, so that they can be copied. */
export function registryTable(
  entries: readonly RegistryReport[],
  now: number,
  colours: Colours,
): string {
  const isOfAll = entries.some(({ report }) => ownerText(report) !== "");
  const rows = entries.map(({ entry, report }) => [
    oneLine(entry.id),
    oneLine(entry.name, 40),
    oneLine(entry.url, 100),
    entry.state,
    formatAge(entry.heartbeatAt, now),
    healthText(entry),
    oneLine(entry.skills.map(({ id }) => id).join(", "), LONGEST_SKILLS),
    ...(isOfAll ? [oneLine(ownerText(report))] : []),
  ]);
  return table([...HEADS, ...(isOfAll ? ["OWNER"] : [])], rows, colours);
}

function healthText({ health }: RegistryEntry): string {
  const { state, checks, answered, latencyMs } = health;
  if (checks === 0) return state;
  const share = `${Math.floor((100 * answered) / checks)} %`;
  return state === "up" && latencyMs !== undefined
    ? `up ${share}, ${Math.round(latencyMs)} ms`
    : `${state} ${share}`;
}

export const agentsRouteCommand: Command = {
  name: "agents route",
  summary: "Rank the registered agents that can do something, with the reasons",
  usage: "<url> [options]",
  examples: [
    "convoke agents route https://agents.example.com --skill translate",
    "convoke agents route https://agents.example.com --tag poetry --exclude Poet",
    "convoke agents route https://agents.example.com --skill translate --json | jq -r '.ranked[0].agent.url'",
  ],
  options: {
    ...CAPABILITY_OPTIONS,
    exclude: {
      type: "string",
      value: "<agent>",
      multiple: true,
      help: "The id, name or URL of an agent to leave out; can be repeated",
    },
    ...SERVER_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  more: "The exit code is 1 if there is no such agent.",
  run: routeAgents,
};

async function routeAgents(context: CommandContext): Promise<number> {
  const { io } = context;
  rejectMoreArguments(context);
  const query = { ...readCapabilities(context), exclude: context.texts("exclude") };
  const entries = await searchRegistry(context);
  const route = routeToAgent(
    query,
    entries.map(({ entry }) => entry),
  );
  if (context.flag("json")) io.stdout(`${printableJson(route)}\n`);
  else printRoute(context, route);
  return route.ranked.length > 0 ? EXIT.done.code : EXIT.taskFailed.code;
}

function readCapabilities({ text, texts }: CommandContext) {
  return { skill: text("skill"), tags: texts("tag"), text: text("text") };
}

function printRoute({ io }: CommandContext, { ranked, excluded }: Route): void {
  for (const one of ranked) io.stdout(rankText(one, coloursFor(io, "stdout")));
  const { dim } = coloursFor(io, "stderr");
  if (ranked.length === 0) io.stderr(`${dim("No registered agent can be chosen.")}\n`);
  for (const { agent, reason } of excluded) {
    io.stderr(`${dim(`Left out: ${oneLine(agent.name, 40)}, because ${oneLine(reason)}`)}\n`);
  }
}

function rankText({ agent, score, factors }: RankedAgent, { bold, dim }: Colours): string {
  const head = `${bold(String(Math.round(score)).padStart(3))}  ${oneLine(agent.name, 40)}  ${oneLine(agent.url, 100)}`;
  const lines = factors.map(({ name, points, most, reason }) =>
    dim(`     ${name} ${Math.round(points)} of ${most}: ${oneLine(reason)}`),
  );
  return `${[head, ...lines].join("\n")}\n`;
}
