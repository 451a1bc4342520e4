import type { McpServers } from "../mcp/mcp-servers.ts";
import { RunSubAgents } from "../sub-agent-calls/run-sub-agents.ts";
import type { ToolBox } from "../tools/tool-box.ts";
import type { Tool, ToolContext, ToolEvent, ToolUseRequired } from "../tools/tool.ts";
import type { ToolCall } from "../run/call-result.ts";
import { callHookNow } from "../run/hooks.ts";
import type { LoopScope } from "../run/loop-scope.ts";
import {
  type ClientTool,
  EXTENSIONS,
  type Metadata,
  type Turn,
  argumentSchema,
  declaredTools,
} from "@convoke/protocol";
import { LoopEndError } from "../run/loop-failure.ts";
import type { ClientToolSettings } from "../run/client-tools.ts";
import { jsonSchemaCheck, toolInput } from "../tools/tool-input.ts";
import { boundedOutput } from "../tools/tool-output.ts";

/** The tools of one run: those of the author, the caller, the sub-agents and the MCP servers. */
export class TurnTools {
  readonly #scope: LoopScope;
  /**
   * Fixed for the whole run, so that a late run cannot start servers after the agent was closed.
   */
  readonly #servers: McpServers | undefined;
  readonly #callers: readonly Tool[];
  readonly #subAgents: RunSubAgents;
  #box: ToolBox;
  #hasLooked = false;

  constructor(scope: LoopScope) {
    this.#scope = scope;
    this.#servers = scope.settings.mcp?.use();
    this.#subAgents = new RunSubAgents(scope);
    const { tools, clientTools: settings, toolOutputLimit: outputLimit } = scope.settings;
    this.#callers = clientTools(scope.turn, { settings, outputLimit });
    this.#box = this.#filtered(this.#withCallers(tools));
  }

  /** The tools that were last offered to the model. */
  get box(): ToolBox {
    return this.#box;
  }

  /** Refreshes the tools, because servers and their tools come and go. */
  async look(): Promise<void> {
    const { signal, settings, clock, tape } = this.#scope;
    const look = (): Promise<readonly Tool[]> => this.#offered(signal);
    const offered = await (tape === undefined ? look() : tape.foreignTools(look));
    const isFirst = !this.#hasLooked && clock.startedAt === undefined;
    if (isFirst) refuseTaken(settings.tools.with(offered), this.#callers);
    this.#hasLooked = true;
    if (this.#servers === undefined && settings.subAgents === undefined) return;
    this.#box = this.#filtered(this.#withCallers(settings.tools).with(offered));
  }

  /**
   * Looks up the tools for calls of an answer that an earlier attempt received. Tools that this
   * attempt has already offered to the model stay: one whose server was lost reconnects by itself.
   */
  async lookOnce(): Promise<void> {
    if (!this.#hasLooked) await this.look();
  }

  /** Starts a round of calls that the model made in parallel. */
  beginRound(calls: readonly ToolCall[]): void {
    this.#subAgents.beginRound(calls);
  }

  /** The error for the model if it calls a tool that does not exist. */
  unknownText(name: string): string {
    return this.#servers?.whyMissing(name) ?? this.#box.unknownText(name);
  }

  /**
   * Ends the run. Questions of MCP servers for this task will get no more answers. Sub-agents are
   * only canceled if the task has ended; otherwise another run continues with them.
   */
  end(hasEnded: boolean): void {
    this.#servers?.endTask(this.#scope.turn.task.id);
    this.#subAgents.end(hasEnded);
  }

  /** If a sub-agent and an MCP tool have the same name, the sub-agent takes precedence. */
  async #offered(signal: AbortSignal): Promise<readonly Tool[]> {
    const [agents, tools] = await Promise.all([
      this.#subAgents.tools(),
      this.#servers?.tools(signal) ?? [],
    ]);
    const names = new Set(agents.map(({ name }) => name));
    const { isPermitted } = this.#scope.settings;
    return [...agents, ...tools.filter(({ name }) => !names.has(name))].filter(({ name }) =>
      isPermitted(name),
    );
  }

  /**
   * Gives the caller's tools precedence. When the turn started, no tool of the agent had the same
   * name; one added since, for example by an update of the agent, must not be called in its place.
   */
  #withCallers(tools: ToolBox): ToolBox {
    if (this.#callers.length === 0) return tools;
    const names = new Set(this.#callers.map(({ name }) => name));
    return tools.only(({ name }) => !names.has(name)).with(this.#callers);
  }

  #filtered(all: ToolBox): ToolBox {
    const { settings, turn, budget } = this.#scope;
    const { toolFilter } = settings.hooks;
    const tools = budget.depth > 0 ? all : all.only(({ callsAgents }) => callsAgents !== true);
    if (toolFilter === undefined) return tools;
    return callHookNow("toolFilter", () => tools.only((tool) => toolFilter(tool, turn)));
  }
}

interface ClientToolFacts {
  /** Undefined if client tools are disabled. */
  readonly settings: ClientToolSettings | undefined;
  /** The longest result that the model gets, in characters. */
  readonly outputLimit: number;
}

/** The tools that the caller declared, if both sides support the extension. */
function clientTools(turn: Turn, facts: ClientToolFacts): readonly Tool[] {
  const { uri } = EXTENSIONS.clientTools;
  if (facts.settings === undefined || !turn.extensions.has(uri)) return [];
  return declaredTools(turn.message.metadata).map((declared) =>
    clientTool(declared, facts.outputLimit),
  );
}

/**
 * Rejects the task if the caller declares a tool with the name of one of the agent's own, because
 * calls of one must never be mistaken for calls of the other.
 */
function refuseTaken(own: ToolBox, declared: readonly Tool[]): void {
  const taken = declared.filter(({ name }) => own.find(name) !== undefined);
  if (taken.length === 0) return;
  const names = taken.map(({ name }) => name).join(", ");
  const text = `This agent has a tool called ${names} itself: declare yours under another name.`;
  const metadata = { error: text, reason: "client-tools", tools: taken.map(({ name }) => name) };
  throw new LoopEndError({ state: "rejected", text, metadata });
}

/** Generous, because the tool only asks here; the caller runs it. */
const TIMEOUT_MS = 60_000;

/**
 * Wraps a tool that the caller declared. A call asks the caller to run it, and the reply is the
 * result, whatever it looks like.
 */
function clientTool(declared: ClientTool, outputLimit: number): Tool {
  const { name, description = `The caller's own tool ${name}.`, inputSchema } = declared;
  const { schema } = toolInput(name, inputSchema);
  return {
    name,
    description,
    inputSchema: schema,
    // The caller runs the tool itself, so asking it for approval would be pointless.
    confirm: "never",
    // A call that a crash interrupted has either not asked yet, or its question is already open.
    idempotent: true,
    timeoutMs: TIMEOUT_MS,
    check: jsonSchemaCheck(argumentSchema(schema, `tool ${name}`)),
    run: (input, { answers }) =>
      ask(name, input as Metadata, answers) ?? given(answers, outputLimit),
  };
}

type Answers = ToolContext["answers"];

/** The id of the only request of a call. */
const RESULT = "result";

function ask(name: string, input: Metadata, answers: Answers): ToolUseRequired | undefined {
  if (answers.get(RESULT)?.result !== undefined) return undefined;
  return { kind: "interrupt:tool-use", requestId: RESULT, name, input };
}

/** Wrapped explicitly: a value that looks like one of our events is still a value. */
function given(answers: Answers, outputLimit: number): ToolEvent {
  const { result: value, error } = answers.get(RESULT)!.result!;
  if (error === undefined) return { kind: "tool:result", value };
  return { kind: "tool:error", text: String(boundedOutput(error, outputLimit)) };
}
