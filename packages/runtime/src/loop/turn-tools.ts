import type { McpServerReport } from "../mcp/mcp-server.ts";
import type { McpServers } from "../mcp/mcp-servers.ts";
import { RunSubAgents } from "../sub-agent-calls/run-sub-agents.ts";
import type { SubAgentReport } from "../sub-agents/sub-agent-link.ts";
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

/**
 * The tools of one run: its author's, its caller's, the sub-agents of the agent, and what its MCP
 * servers have.
 */
export class TurnTools {
  readonly #scope: LoopScope;
  /** Of this run to its end: one that is late starts no server after the agent was closed. */
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

  /** Those that the model was told of last. */
  get box(): ToolBox {
    return this.#box;
  }

  /** Looks what there is now: servers come and go, and so do their tools. */
  async look(): Promise<void> {
    const { signal, settings, clock } = this.#scope;
    const offered = await this.#offered(signal);
    const isFirst = !this.#hasLooked && clock.startedAt === undefined;
    if (isFirst) refuseTaken(settings.tools.with(offered), this.#callers);
    this.#hasLooked = true;
    if (this.#servers === undefined && settings.subAgents === undefined) return;
    this.#box = this.#filtered(this.#withCallers(settings.tools).with(offered));
  }

  /**
   * For calls of an answer that an earlier attempt got. What this attempt has told the model stays:
   * a tool whose server was lost meanwhile connects again by itself.
   */
  async lookOnce(): Promise<void> {
    if (!this.#hasLooked) await this.look();
  }

  /** The model wants these at the same time. */
  beginRound(calls: readonly ToolCall[]): void {
    this.#subAgents.beginRound(calls);
  }

  /** The error for the model if it calls a tool that does not exist. */
  unknownText(name: string): string {
    return this.#servers?.whyMissing(name) ?? this.#box.unknownText(name);
  }

  serverReports(): readonly McpServerReport[] {
    return this.#servers?.report() ?? [];
  }

  subAgentReports(): readonly SubAgentReport[] {
    return this.#subAgents.report();
  }

  /**
   * No answer will come any more to what servers ask for this task, and nobody waits for sub-agents,
   * if the task has ended: of one that was only left, somebody else goes on with them.
   */
  end(hasEnded: boolean): void {
    this.#servers?.endTask(this.#scope.turn.task.id);
    this.#subAgents.end(hasEnded);
  }

  /** Where a sub-agent and a server have something of the same name, it is the sub-agent's. */
  async #offered(signal: AbortSignal): Promise<readonly Tool[]> {
    const [agents, tools] = await Promise.all([
      this.#subAgents.tools(),
      this.#servers?.tools(signal) ?? [],
    ]);
    const names = new Set(agents.map(({ name }) => name));
    return [...agents, ...tools.filter(({ name }) => !names.has(name))];
  }

  /**
   * When the turn began, no tool of the agent had the name of one of the caller. One that has it
   * since, as after a change of the agent, is not called in its place.
   */
  #withCallers(tools: ToolBox): ToolBox {
    if (this.#callers.length === 0) return tools;
    const names = new Set(this.#callers.map(({ name }) => name));
    return tools.only(({ name }) => !names.has(name)).with(this.#callers);
  }

  #filtered(tools: ToolBox): ToolBox {
    const { settings, turn } = this.#scope;
    const { toolFilter } = settings.hooks;
    if (toolFilter === undefined) return tools;
    return callHookNow("toolFilter", () => tools.only((tool) => toolFilter(tool, turn)));
  }
}

/** What a turn's own tools are made with. */
interface ClientToolFacts {
  /** Nothing where the agent takes none. */
  readonly settings: ClientToolSettings | undefined;
  /** The longest result that the model gets, in characters. */
  readonly outputLimit: number;
}

/** The tools that the caller of a turn declared, where both sides speak of them. */
function clientTools(turn: Turn, facts: ClientToolFacts): readonly Tool[] {
  const { uri } = EXTENSIONS.clientTools;
  if (facts.settings === undefined || !turn.extensions.has(uri)) return [];
  return declaredTools(turn.message.metadata).map((declared) =>
    clientTool(declared, facts.outputLimit),
  );
}

/**
 * Rejects the task of a caller whose tool has the name of one that the agent has itself: calls of
 * the one must never be taken for calls of the other.
 */
function refuseTaken(own: ToolBox, declared: readonly Tool[]): void {
  const taken = declared.filter(({ name }) => own.find(name) !== undefined);
  if (taken.length === 0) return;
  const names = taken.map(({ name }) => name).join(", ");
  const text = `This agent has a tool called ${names} itself: declare yours under another name.`;
  const metadata = { error: text, reason: "client-tools", tools: taken.map(({ name }) => name) };
  throw new LoopEndError({ state: "rejected", text, metadata });
}

/** Nothing of it runs here but the asking. */
const TIMEOUT_MS = 60_000;

/**
 * A tool that the caller declared, for the model. A call asks the caller to run it; what comes back
 * is its result, whatever it looks like.
 */
function clientTool(declared: ClientTool, outputLimit: number): Tool {
  const { name, description = `The caller's own tool ${name}.`, inputSchema } = declared;
  const { schema } = toolInput(name, inputSchema);
  return {
    name,
    description,
    input: schema,
    // The caller runs it, so there is no one else to ask.
    confirm: "never",
    // A call that a crash interrupted has not asked yet, or its question is open already.
    idempotent: true,
    timeoutMs: TIMEOUT_MS,
    check: jsonSchemaCheck(argumentSchema(schema, `tool ${name}`)),
    run: (input, { answers }) =>
      ask(name, input as Metadata, answers) ?? given(answers, outputLimit),
  };
}

type Answers = ToolContext["answers"];

/** The only request of a call; the answer comes under it. */
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
