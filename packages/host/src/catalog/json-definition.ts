import { createEgress, createEgressFetch } from "@convoke/egress";
import { didYouMean, isObject } from "@convoke/protocol/internal";
import { AgentChangeError } from "@convoke/server";
import type { AgentEntry } from "./agent-entry.ts";
import type { JsonDefinition } from "./catalog-store.ts";

/** What operators may define while a server runs, in addition to agents with a model. */
export interface CatalogRights {
  /**
   * Whether they may define programs, coding agents, and MCP servers that are programs. Default
   * false, because a definition then runs any command as the user of the server.
   */
  readonly allowProcesses?: boolean;
  /** Whether they may name modules to load. Default false, because a module is code. */
  readonly allowModules?: boolean;
}

/** Fields that say what an agent is, for all kinds. */
const CARD_FIELDS = [
  "name",
  "description",
  "version",
  "skills",
  "provider",
  "documentationUrl",
  "iconUrl",
  "inputModes",
  "outputModes",
  "timeoutMs",
  "inputTimeout",
  "onDisconnect",
  "scopes",
];

/**
 * The fields of an agent with a model. `modelOptions` is not among them: with another `baseUrl` the
 * key of the server would be sent there.
 */
const MODEL_FIELDS = [
  "model",
  "instructions",
  "persona",
  "skillBundles",
  "mcpServers",
  "mcpToolPermissions",
  "subAgents",
  "budget",
  "maxOutputTokens",
  "temperature",
];

/** The fields of programs and coding agents, which run commands. */
const PROCESS_FIELDS = [
  "command",
  "args",
  "protocol",
  "workspace",
  "workspacePerSession",
  "env",
  "limits",
  "mode",
  "callerModes",
  "authMethod",
  "files",
  "slashCommands",
  "policy",
];

const MCP_FIELDS = [
  "url",
  "headers",
  "allow",
  "deny",
  "confirm",
  "startTimeoutMs",
  "callTimeoutMs",
];

const SUB_AGENT_FIELDS = ["url", "description", "confirm", "timeoutMs", "token"];

/** Checks that an operator may define these fields. A field that is `null` is about to be removed. */
export function checkDefinition(given: JsonDefinition, rights: CatalogRights): void {
  const known = [...CARD_FIELDS, ...MODEL_FIELDS, ...PROCESS_FIELDS, "module"];
  for (const [name, value] of Object.entries(given)) {
    if (!known.includes(name)) {
      const guess = didYouMean(name, known) || ` The fields are ${known.join(", ")}.`;
      throw invalid(name, `cannot be defined through the API.${guess}`);
    }
    if (PROCESS_FIELDS.includes(name) && rights.allowProcesses !== true) throw noProcesses(name);
    if (name === "module" && rights.allowModules !== true) {
      throw forbidden(name, "needs allowModules: true in the configuration, because it is code");
    }
    if (name === "model" && value !== null) checkModel(value);
    if (name === "mcpServers" && value !== null) checkServers(value, rights);
    if (name === "subAgents" && value !== null) checkSubAgents(value);
  }
}

/** A model at an address would get a key of the server, so it can only be in the configuration. */
function checkModel(value: unknown): void {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isName = (name: unknown): boolean =>
    typeof name === "string" && !/^https?:/i.test(name.trim());
  if (names.length > 0 && names.every(isName)) return;
  throw invalid(
    "model",
    'must be a name such as "anthropic:claude-sonnet-4-5", or a list of names',
  );
}

function checkServers(value: unknown, { allowProcesses }: CatalogRights): void {
  for (const [name, server] of entriesOf("mcpServers", value)) {
    const field = `mcpServers.${name}`;
    if (!isObject(server)) throw invalid(field, 'must be an object such as { "url": "…" }');
    if (server["command"] === undefined) checkFields(field, server, MCP_FIELDS);
    else if (allowProcesses !== true) throw noProcesses(`${field}.command`);
  }
}

function checkSubAgents(value: unknown): void {
  for (const [name, agent] of entriesOf("subAgents", value)) {
    const field = `subAgents.${name}`;
    if (typeof agent === "string") continue;
    if (!isObject(agent)) throw invalid(field, 'must be an address, or { "url": "…" }');
    checkFields(field, agent, SUB_AGENT_FIELDS);
  }
}

function entriesOf(field: string, value: unknown): readonly (readonly [string, unknown])[] {
  if (isObject(value)) return Object.entries(value);
  throw invalid(field, "must be an object");
}

function checkFields(field: string, value: object, known: readonly string[]): void {
  const other = Object.keys(value).find((name) => !known.includes(name));
  if (other === undefined) return;
  throw invalid(`${field}.${other}`, `is not one of ${known.join(", ")}`);
}

/**
 * The entry of a definition. What it names by URL is reached by public addresses only: otherwise an
 * operator could read what only the server can reach.
 */
export function toEntry(definition: JsonDefinition): AgentEntry {
  const { mcpServers, subAgents } = definition;
  if (mcpServers === undefined && subAgents === undefined)
    return definition as unknown as AgentEntry;
  const fetch = createEgressFetch(createEgress());
  return {
    ...definition,
    ...(mcpServers !== undefined && { mcpOptions: { fetch } }),
    ...(subAgents !== undefined && {
      subAgents: Object.fromEntries(
        Object.entries(subAgents as object).map(([name, agent]: [string, unknown]) => [
          name,
          { ...(isObject(agent) ? agent : { url: agent }), fetch },
        ]),
      ),
    }),
  } as unknown as AgentEntry;
}

function invalid(field: string, problem: string): AgentChangeError {
  return new AgentChangeError("invalid", `${field} ${problem}`);
}

function forbidden(field: string, problem: string): AgentChangeError {
  return new AgentChangeError("not-allowed", `${field} ${problem}`);
}

function noProcesses(field: string): AgentChangeError {
  return forbidden(
    field,
    "needs allowProcesses: true in the configuration, because it runs commands on this machine",
  );
}
