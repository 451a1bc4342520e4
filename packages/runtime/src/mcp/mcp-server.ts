import type { AgentSkill } from "@convoke/protocol";
import type { Tool as ServerTool } from "@modelcontextprotocol/client";
import { isDeepStrictEqual } from "node:util";
import type { ConfirmRule, Interrupt, Tool, ToolContext, ToolEvent } from "../tools/tool.ts";
import type { ChildRecords } from "../processes/child-records.ts";
import { McpConnection, type McpStatus } from "./mcp-connection.ts";
import type { CallOptions, McpSession } from "./mcp-session.ts";
import { type McpServerSettings, type McpSettings, isRule } from "./mcp-settings.ts";
import { OpenCalls } from "./open-call.ts";
import { schemaProblem, serverSchemaCheck } from "./server-schema.ts";
import { signInInterrupt, signInTool } from "./sign-in.ts";
import { toolNames } from "./tool-names.ts";
import { authRequired } from "../tools/interrupts.ts";
import { toolInput } from "../tools/tool-input.ts";
import { isElicitationId } from "./elicitation.ts";
import { McpError } from "./mcp-error.ts";
import { resultEvents } from "./result-content.ts";

const NO_SKILLS: readonly AgentSkill[] = [];

/** The status of a server, safe to show to anyone. */
export interface McpServerReport {
  readonly name: string;
  readonly status: McpStatus;
  /** Why the server is not connected. */
  readonly error?: string;
  /** Further information, such as that some of its tools were left out. */
  readonly note?: string;
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly parameterSchema: Tool["inputSchema"];
  }[];
}

/** One MCP server of an agent: its connection, its calls and its tools. */
export class McpServer {
  readonly #server: McpServerSettings;
  readonly #settings: McpSettings;
  readonly #connection: McpConnection;
  readonly #calls: OpenCalls;
  #tools: readonly Tool[] = [];
  #skills = NO_SKILLS;
  #note: string | undefined;

  constructor(server: McpServerSettings, settings: McpSettings, records: ChildRecords | undefined) {
    this.#server = server;
    this.#settings = settings;
    this.#calls = new OpenCalls(server.name, settings.answerTimeoutMs);
    this.#connection = new McpConnection({
      server,
      settings,
      records,
      onElicit: (params, signal) => this.#calls.ask(params, signal),
      onTools: (tools) => this.#take(tools),
    });
  }

  get name(): string {
    return this.#server.name;
  }

  /** The tools that can be called now. */
  get tools(): readonly Tool[] {
    const { status, error } = this.#connection;
    if (status === "connected") return this.#tools;
    return error?.kind === "sign-in" ? [signInTool(this.#server, this.#connection)] : [];
  }

  /** The current tools as skills for the agent card. Returns the same array until they change. */
  get skills(): readonly AgentSkill[] {
    return this.#connection.status === "connected" ? this.#skills : NO_SKILLS;
  }

  settled(): Promise<void> {
    return this.#connection.settled();
  }

  session(): Promise<McpSession> {
    return this.#connection.ready();
  }

  owns(toolName: string): boolean {
    return toolName.startsWith(`${this.#server.prefix}__`);
  }

  report(): McpServerReport {
    const { status, error } = this.#connection;
    return {
      name: this.name,
      status,
      ...(error && { error: error.message }),
      ...(status === "connected" && this.#note !== undefined && { note: this.#note }),
      tools: this.tools.map(({ name, description, inputSchema }) => ({
        name,
        description,
        parameterSchema: inputSchema,
      })),
    };
  }

  /** Cancels the calls that wait for answers in a task that has ended. */
  endTask(taskId: string): void {
    this.#calls.cancel(taskId);
  }

  async close(): Promise<void> {
    this.#calls.cancel();
    await this.#connection.close();
  }

  /**
   * Logs schemas that cannot be used. The tool stays available, because the server checks its
   * arguments itself.
   */
  #warnOfSchemas({ name: tool, inputSchema, outputSchema }: ServerTool): void {
    const problem =
      schemaProblem(inputSchema, "inputSchema") ??
      (outputSchema && schemaProblem(outputSchema, "outputSchema"));
    if (problem === undefined) return;
    const { name: server } = this.#server;
    const message = "a schema of an MCP server's tool is unusable, so nothing is checked by it";
    this.#settings.logger.warn(message, { server, tool, problem });
  }

  #take(listed: readonly ServerTool[]): void {
    const { allow, deny, prefix, name: server } = this.#server;
    const { maxTools, maxResultSize, logger } = this.#settings;
    const chosen = listed.filter(
      ({ name }) => (allow === undefined || allow.has(name)) && !deny.has(name),
    );
    const offered = new Map(chosen.slice(0, maxTools).map((tool) => [tool.name, tool]));
    const names = toolNames(prefix, [...offered.keys()]);
    const [connection, calls] = [this.#connection, this.#calls];
    const around = { server: this.#server, connection, calls, maxResultSize };
    const made = [...offered.values()].flatMap((described) => {
      const { name: ownName } = described;
      try {
        const tool = mcpTool(names.get(ownName)!, described, around);
        this.#warnOfSchemas(described);
        return [{ tool, skill: toolSkill(tool, { server, ownName }) }];
      } catch (error) {
        logger.warn("a tool of an MCP server is left out", { server, tool: ownName, error });
        return [];
      }
    });
    this.#tools = made.map(({ tool }) => tool);
    const skills = made.map(({ skill }) => skill);
    // A server that reconnects with the same tools must not change the card.
    if (!isDeepStrictEqual(skills, this.#skills)) this.#skills = skills;
    this.#note = noteOf(this.#server, listed, { chosen: chosen.length, maxTools });
  }
}

function noteOf(
  { allow }: McpServerSettings,
  listed: readonly ServerTool[],
  { chosen, maxTools }: { readonly chosen: number; readonly maxTools: number },
): string | undefined {
  if (chosen > maxTools) {
    return `it has ${chosen} tools, of which the first ${maxTools} are used; choose with allow`;
  }
  const known = new Set(listed.map(({ name }) => name));
  const missing = [...(allow ?? [])].filter((name) => !known.has(name));
  return missing.length === 0
    ? undefined
    : `allow names tools it does not have: ${missing.join(", ")}`;
}

/** Dependencies shared by all tools of one server. */
interface McpToolSurroundings {
  readonly server: McpServerSettings;
  readonly connection: McpConnection;
  readonly calls: OpenCalls;
  readonly maxResultSize: number;
}

const MAX_DESCRIPTION = 4000;

/** Creates a model tool from a server's tool. Throws if the server's description is invalid. */
function mcpTool(name: string, described: ServerTool, around: McpToolSurroundings): Tool {
  const { server } = around;
  const { annotations, description = described.title ?? described.name } = described;
  const { schema } = toolInput(name, described.inputSchema);
  const isReader = annotations?.readOnlyHint === true;
  const idempotent = isReader || annotations?.idempotentHint === true;
  return {
    name,
    description: description.slice(0, MAX_DESCRIPTION),
    describedBy: `The MCP server ${server.name}`,
    inputSchema: schema,
    confirm: confirmByAnnotations(server, described),
    idempotent,
    timeoutMs: server.callTimeoutMs,
    check: serverSchemaCheck(schema),
    run: (input, context) => run({ ...around, described, idempotent }, input, context),
  };
}

interface RunSurroundings extends McpToolSurroundings {
  readonly described: ServerTool;
  readonly idempotent: boolean;
}

type RunReturn = ToolEvent | readonly Interrupt[];

const PERHAPS_DONE = "It may or may not have done its work; check before you repeat it.";

const CUT = `Unknown: the call was cut while it waited for an answer. ${PERHAPS_DONE}`;

async function* run(
  around: RunSurroundings,
  input: unknown,
  context: ToolContext,
): AsyncGenerator<ToolEvent, RunReturn> {
  const { calls, idempotent, maxResultSize } = around;
  const kept = calls.find(context);
  const isCut = kept === undefined && [...context.answers.keys()].some(isElicitationId);
  if (isCut && !idempotent) return { kind: "tool:error", text: CUT };
  const call = kept ?? calls.begin(context, (options) => callServer(around, input, options));
  let isKept = false;
  try {
    const end = yield* call.round(context);
    if (end.kind === "result") return yield* resultEvents(end.result, context, maxResultSize);
    if (end.kind === "error") return failure(around, end.error, context);
    isKept = true;
    return end.interrupts;
  } finally {
    if (isKept) calls.keep(context);
    else calls.end(context);
  }
}

/**
 * Calls the server, and repeats the call once if the server certainly did nothing the first time,
 * for example after it restarted.
 */
async function callServer(
  { connection, described }: RunSurroundings,
  input: unknown,
  options: CallOptions,
): ReturnType<Parameters<OpenCalls["begin"]>[1]> {
  const given = input as Readonly<Record<string, unknown>>;
  const session = await connection.ready();
  try {
    return await session.call(described.name, given, options);
  } catch (error) {
    if (!(error instanceof McpError) || !error.isUntouched) throw error;
    const next = await connection.ready();
    return next.call(described.name, given, options);
  }
}

function failure(
  { server, described }: RunSurroundings,
  error: unknown,
  { answers }: ToolContext,
): RunReturn {
  const { name } = server;
  if (!(error instanceof McpError)) throw error;
  if (error.kind === "sign-in") {
    const interrupt = signInInterrupt(name, error.challenge);
    // If the user has already signed in and it did not help, do not ask again.
    if (!answers.has(interrupt.requestId)) return [interrupt];
  }
  const visits = error.visits
    .map(({ url, prompt }, place) =>
      authRequired(`The MCP server ${name} asks: ${prompt}`, { requestId: `visit-${place}`, url }),
    )
    .filter(({ requestId }) => !answers.has(requestId));
  if (visits.length > 0) return visits;
  const why = (error.said ?? error.message).replace(/\.$/, "");
  const after = error.kind === "gone" ? ` ${PERHAPS_DONE}` : "";
  const text = `${described.name} of the MCP server ${name} failed: ${why}.${after}`;
  return { kind: "tool:error", text };
}

/**
 * Decides whether calls of a tool need approval. The operator's configuration takes precedence.
 * Otherwise read-only tools need none, and tools without annotations do.
 */
function confirmByAnnotations(
  { name: server, confirm }: McpServerSettings,
  { name, annotations }: ServerTool,
): ConfirmRule {
  if (isRule(confirm)) return confirm;
  if (confirm !== undefined && Object.hasOwn(confirm, name)) return confirm[name]!;
  if (annotations?.readOnlyHint === true) return "never";
  const words = {
    // Shows the tool's name instead of its title, because a server can put anything into the title.
    title: `${server}: ${name.slice(0, 100)}`,
    risk: annotations?.destructiveHint === false ? "info" : "warning",
  } as const;
  return () => words;
}

/** The server and the original name of a tool. */
interface ToolOrigin {
  readonly server: string;
  /** The tool's name on its server. */
  readonly ownName: string;
}

const MAX_SKILL_DESCRIPTION = 500;

const MAX_NAME = 100;

/**
 * Converts a server's tool to a skill for the agent card. The id is the name that the model uses.
 * The other fields are written for people and are shorter than the model's description.
 */
export function toolSkill(
  { name, description }: Pick<Tool, "name" | "description">,
  { server, ownName }: ToolOrigin,
): AgentSkill {
  const readable = bounded(readableName(ownName), MAX_NAME) || name;
  const [paragraph = ""] = description.trim().split(/\n\s*\n/);
  return {
    id: name,
    name: readable,
    description: bounded(oneLine(paragraph), MAX_SKILL_DESCRIPTION) || readable,
    tags: ["mcp", server],
  };
}

/**
 * Converts `read_text_file` and `readTextFile` to "Read text file". Words in capitals, such as URL,
 * are kept.
 */
function readableName(name: string): string {
  const words = name
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .replaceAll(/[_\-./:]+/g, " ");
  const lowered = oneLine(words).replaceAll(/\p{Lu}\p{Ll}+/gu, (word) => word.toLowerCase());
  return lowered.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase());
}

function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
}

/**
 * Shortens text without splitting a surrogate pair: a card with a lone surrogate cannot be signed.
 */
function bounded(text: string, max: number): string {
  const cut =
    text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
  return cut.toWellFormed();
}
