import {
  type Agent,
  type AgentCommand,
  type AgentEvent,
  type AgentExtension,
  type AgentInfo,
  type AgentSkill,
  type ArtifactUpdateEvent,
  type StatusUpdateEvent,
  type Turn,
  agentMessage,
  textOfParts,
} from "@convoke/protocol";
import { canonicalJson } from "@convoke/protocol/internal";
import { type SettingsEvent, TURN_ANSWER } from "../events/log-fold.ts";
import { type AgentSettings, requestedSettings } from "../events/settings.ts";
import { coderAgent } from "./coder-agent.ts";
import { type CoderDialect, toDialect } from "./coder-dialect.ts";
import { coderExtension } from "./coder-extension.ts";
import { developmentTool } from "./development-tool.ts";
import { eventMessages } from "./event-messages.ts";
import { translateReplies } from "./translate-replies.ts";

export interface DialectOptions {
  /**
   * The state in which a turn ends. Default "completed": a follow-up is a new task of the same
   * conversation. "input-required" keeps the task open for more messages, as clients of Gemini's
   * coding agent expect.
   */
  readonly turnEndState?: "completed" | "input-required";
  /**
   * The settings that are in effect for a turn. If they are not those that the caller asked for, the
   * caller receives them. Default: callers receive no settings.
   */
  readonly settings?: (turn: Turn) => AgentSettings | undefined;
  /** The commands that callers can list and run. Default none. */
  readonly commands?: () => readonly AgentCommand[] | Promise<readonly AgentCommand[]>;
}

/** The skill of a coding agent, for its card. */
export const CODE_GENERATION: AgentSkill = {
  id: "code_generation",
  name: "Code Generation",
  description: "Generates code based on instructions",
  tags: ["code", "development", "programming"],
};

/** In order of precedence for a caller that activates several. */
const DIALECTS: readonly CoderDialect[] = [
  coderExtension,
  developmentTool,
  coderAgent,
  eventMessages,
];

/**
 * Makes an agent that `defineAgent` made of a model speak the dialects of a coding agent. Callers
 * that activate none see plain A2A.
 */
export function withDialects(agent: Agent, options: DialectOptions = {}): Agent {
  const { commands = () => [] } = options;
  const declared = declaring(agent);
  return {
    ...agent,
    get info() {
      return declared();
    },
    dialects: DIALECTS.map(toDialect),
    commands,
    translate: (message, task) => translateReplies(DIALECTS, message, task),
    run: (turn) => runTurn(agent, turn, options),
  };
}

const EXTENSIONS: readonly AgentExtension[] = DIALECTS.map(({ uri, description }) => ({
  uri,
  description,
  required: false,
}));

/** The info with the extensions of the dialects; the same object until the agent replaces its own. */
function declaring(agent: Agent): () => AgentInfo {
  let seen: AgentInfo | undefined;
  let info: AgentInfo | undefined;
  return () => {
    if (info !== undefined && seen === agent.info) return info;
    seen = agent.info;
    const own = seen.extensions ?? [];
    const missing = EXTENSIONS.filter(({ uri }) => !own.some((one) => one.uri === uri));
    info = { ...seen, extensions: [...own, ...missing] };
    return info;
  };
}

async function* runTurn(
  agent: Agent,
  turn: Turn,
  { settings, turnEndState = "completed" }: DialectOptions,
): AsyncGenerator<AgentEvent | readonly AgentEvent[]> {
  const inEffect = turn.attempt === 1 ? settings?.(turn) : undefined;
  if (inEffect !== undefined && !isRequested(inEffect, turn)) {
    const kind = "internal:coder/settings";
    yield { kind, taskId: turn.task.id, settings: inEffect } satisfies SettingsEvent;
  }
  const events = agent.run(turn);
  yield* turnEndState === "completed" ? events : keepOpen(events, turn);
}

function isRequested(inEffect: AgentSettings, turn: Turn): boolean {
  return canonicalJson(inEffect) === canonicalJson(requestedSettings(turn) ?? {});
}

/**
 * Ends the turn and not the task. The text of the answer becomes the last message, so that the next
 * turn of the task knows it.
 */
async function* keepOpen(
  events: ReturnType<Agent["run"]>,
  { id, task }: Pick<Turn, "id" | "task">,
): AsyncGenerator<AgentEvent> {
  const messageId = `${task.id}-${id()}${TURN_ANSWER}`;
  let text = "";
  for await (const batch of events) {
    for (const event of [batch].flat() as readonly AgentEvent[]) {
      text = textAfter(text, event);
      const { status } = event as StatusUpdateEvent;
      if (event.kind !== "status-update" || status.state !== "completed") {
        yield event;
        continue;
      }
      const message = text === "" ? status.message : agentMessage(messageId, text);
      const waiting = { ...status, state: "input-required" as const, ...(message && { message }) };
      yield { ...event, status: waiting } as StatusUpdateEvent;
    }
  }
}

function textAfter(text: string, event: AgentEvent): string {
  if (event.kind !== "artifact-update") return text;
  const { artifact, append } = event as ArtifactUpdateEvent;
  if (!artifact.artifactId.startsWith("answer-")) return text;
  return (append === true ? text : "") + textOfParts(artifact.parts);
}
