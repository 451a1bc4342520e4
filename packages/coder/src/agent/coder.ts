import {
  A2AError,
  type Agent,
  type AgentEvent,
  type Message,
  type StatusUpdateEvent,
  type Turn,
  isTerminal,
  textOfParts,
} from "@convoke/protocol";
import { type LlmResultEvent, defineAgent } from "@convoke/runtime";
import { agentCommands } from "../commands/command.ts";
import { withDialects } from "../dialects/with-dialects.ts";
import { type AgentSettings, requestedSettings } from "../events/settings.ts";
import { requestRights } from "../policy/request-rights.ts";
import { isInside } from "../policy/path-glob.ts";
import type { Mode } from "../policy/verdict.ts";
import { type Session, visibleConversation } from "../sessions/session.ts";
import { type SessionKey, sessionKey } from "../storage/session-key.ts";
import { WorkspaceError } from "../workspace/workspace-error.ts";
import { cardOf } from "./card.ts";
import { type CoderOptions, type CoderSettings, coderSettings } from "./coder-options.ts";
import { CoderHome } from "./coder-home.ts";
import { CommandTurn } from "./command-turn.ts";
import type { McpServerConfigs } from "./session-servers.ts";

/** A coding agent, for the program that runs it. */
export interface CodingAgent extends Agent {
  /**
   * Gives a conversation MCP servers in addition to those of the agent, in place of those that it
   * was given before; `{}` closes them. They start with its next turn and end with the agent. They
   * are not stored, because they may hold secrets, so they have to be given again after a restart.
   * The policy decides on each call of their tools. No request of a caller can do this: servers are
   * programs that run with the rights of this process.
   *
   * @example
   * const agent = coder({ workspace: "/home/me/project" });
   * await agent.setMcpServers("context-1", { files: { command: "mcp-files", args: ["/srv"] } });
   */
  setMcpServers(contextId: string, servers: McpServerConfigs): Promise<void>;
}

/**
 * Creates a coding agent: it reads, edits and runs programs in a workspace, within a policy. It is
 * an agent for `serve`, `mount` and `subAgents`.
 *
 * @example
 * import { serve } from "convoke";
 * import { coder } from "convoke/coder";
 *
 * const agent = coder({ workspace: "/home/me/project", model: "anthropic:claude-sonnet-4-5" });
 * await serve(agent, { data: "/var/lib/coder" });
 */
export function coder(options: CoderOptions): CodingAgent {
  const settings = coderSettings(options);
  const home = new CoderHome(settings);
  const routed = withDialects(routedAgent(settings, home), {
    turnEndState: settings.turnEndState,
    settings: (turn) => settingsInEffect(turn, home),
    commands: () => listCommands(home),
  });
  return {
    ...routed,
    get info() {
      return routed.info;
    },
    run: (turn) => openSession(turn, { settings, home, run: (one) => routed.run(one) }),
    setMcpServers: (contextId, servers) => home.setMcpServers(contextId, servers),
  };
}

/** Finds or creates the session of a turn, so that everything after it knows the session. */
async function* openSession(
  turn: Turn,
  { settings, home, run }: { settings: CoderSettings; home: CoderHome; run: Agent["run"] },
): AsyncGenerator<AgentEvent | readonly AgentEvent[]> {
  const key = keyOf(turn);
  const wish: Partial<AgentSettings> = requestedSettings(turn) ?? {};
  const found = await home.sessions.find(key);
  const root = found?.root ?? firstRoot(wish, settings);
  const project = await home.project(root).catch(explainWorkspace);
  const title = textOfParts(turn.message.parts);
  const session = found ?? (await home.sessions.create({ ...key, root, title }));
  if (turn.attempt === 1) {
    const { mode } = requestRights(wish, {
      policy: project.rights,
      mode: project.modeOf(key),
      workspacePath: session.root,
      allowedRoots: [],
    });
    if (mode !== project.modeOf(key)) await home.sessions.change(session, () => ({ mode }));
    const isKnown = settings.models.some(({ name }) => name === wish.model);
    if (isKnown) await home.sessions.change(session, () => ({ model: wish.model! }));
  }
  yield* run(turn);
}

/** The workspace that the caller asks for, if it may; otherwise the one of the server. */
function firstRoot(
  { workspacePath }: Partial<AgentSettings>,
  { workspace, allowedRoots }: CoderSettings,
): string {
  const isAllowed =
    workspacePath !== undefined && allowedRoots.some((root) => isInside(workspacePath, root));
  return isAllowed ? workspacePath : workspace;
}

/** What is wrong with a workspace is for the caller, who may have chosen it. */
function explainWorkspace(error: unknown): never {
  if (!(error instanceof WorkspaceError)) throw error;
  throw new A2AError("InvalidParams", `workspacePath: ${error.message}`);
}

/** What the caller's settings became; undefined if it sent none. */
function settingsInEffect(turn: Turn, home: CoderHome): AgentSettings | undefined {
  const key = keyOf(turn);
  const session = home.sessions.known(key);
  const wish = requestedSettings(turn);
  const { mode } = modeIn(key, home);
  if (session === undefined || mode === undefined || wish === undefined) return undefined;
  return {
    kind: "agent-settings",
    workspacePath: session.root,
    autoExecute: mode === "full",
    ...(wish.mode !== undefined && { mode }),
    ...(wish.model !== undefined && { model: home.modelName(session) }),
  };
}

async function listCommands(home: CoderHome) {
  const project = await home.project();
  const commands = await home.commands(project);
  return agentCommands(commands, async ({ command, args }, { caller, contextId }) => {
    const session =
      contextId === undefined ? undefined : await home.sessions.find(sessionKey(caller, contextId));
    const own = session === undefined ? project : await home.project(session.root);
    const scope = home.commandScope({ caller, project: own, commands, session, conversation: [] });
    return command.run!(args, scope);
  });
}

/** Runs commands, and hands every other turn to the agent of its workspace and model. */
function routedAgent(settings: CoderSettings, home: CoderHome): Agent {
  // It declares the card and checks answers; the agents of the workspaces do the work.
  const bases = settings.models.map(({ model }) => {
    const { modelOptions } = settings;
    return defineAgent({ ...cardOf(settings), model, ...(modelOptions && { modelOptions }) });
  });
  const base = bases[0]!;
  const agentOf = (key: SessionKey) => home.openAgent(home.sessions.known(key));
  return {
    ...(settings.id !== undefined && { id: settings.id }),
    info: base.info,
    accept: (task, message, at) => base.accept?.(task, message, at) ?? message,
    run: (turn) => runTurn(turn, home),
    report: (task, owner) => {
      const key = { owner, contextId: task.contextId };
      return { ...(agentOf(key) ?? base).report?.(task, owner), ...modeIn(key, home) };
    },
    abandon: (task, journal, owner) => {
      agentOf({ owner, contextId: task.contextId })?.abandon?.(task, journal, owner);
    },
    erase: (scope) => home.erase(scope),
    prepare: (place) => {
      // They check that their models can be used.
      for (const one of bases) one.prepare?.(place);
      home.prepare(place);
    },
    drain: (withinMs) => home.drain(withinMs),
    [Symbol.asyncDispose]: () => home.close(),
  };
}

/** The mode of a conversation, if its workspace was opened before in this process. */
function modeIn(key: SessionKey, home: CoderHome): { readonly mode?: Mode } {
  const mode = home.opened(home.sessions.known(key)?.root)?.modeOf(key);
  return mode === undefined ? {} : { mode };
}

async function* runTurn(
  turn: Turn,
  home: CoderHome,
): AsyncGenerator<AgentEvent | readonly AgentEvent[]> {
  const key = keyOf(turn);
  const session = home.sessions.known(key)!;
  const project = await home.project(session.root);
  const command = await CommandTurn.of(turn, home, { session, project });
  const message = command === undefined ? turn.message : yield* command.run();
  if (message === undefined) return;
  // A command may have changed it.
  const latest = home.sessions.known(key) ?? session;
  const agent = await home.agent(latest, project);
  const conversation = yield* fittingConversation(turn, home, latest);
  let contextTokens = lastContextTokens(turn.journal);
  for await (const events of agent.run(withMessage(turn, message, conversation))) {
    const all = [events].flat();
    contextTokens = lastContextTokens(all) ?? contextTokens;
    // Before its end is written: nothing runs after it.
    const end = all.find(isEnd) as StatusUpdateEvent | undefined;
    if (end !== undefined) await home.countUsage(turn, end.metadata?.["usage"], contextTokens);
    yield events;
  }
}

/** The tokens of the last answer of the model, with its request. */
function lastContextTokens(events: readonly AgentEvent[]): number | undefined {
  const last = events.findLast(({ kind }) => kind === "internal:llm-result");
  if (last === undefined) return undefined;
  const { inputTokens, outputTokens } = (last as unknown as LlmResultEvent).usage;
  return inputTokens + outputTokens;
}

/** The conversation that the model gets; summarized first if it is long. */
async function* fittingConversation(
  turn: Turn,
  home: CoderHome,
  session: Session,
): AsyncGenerator<AgentEvent, readonly Message[]> {
  const visible = visibleConversation(session, turn.conversation);
  const event = await home.compactIfLong(turn, session, visible);
  if (event === undefined) return visible;
  yield event;
  const after = home.sessions.known(session) ?? session;
  return visibleConversation(after, turn.conversation);
}

function keyOf({ caller, task }: Turn): SessionKey {
  return sessionKey(caller, task.contextId);
}

function isEnd(event: AgentEvent): boolean {
  return event.kind === "status-update" && isTerminal((event as StatusUpdateEvent).status.state);
}

/** The same turn with another message and conversation; its getters stay as they are. */
function withMessage(turn: Turn, message: Message, conversation: readonly Message[]): Turn {
  return Object.create(turn, {
    message: { value: message, enumerable: true },
    conversation: { value: conversation, enumerable: true },
  }) as Turn;
}
