import {
  type AgentCardFacts,
  type AgentExtension,
  type AgentInfo,
  type Caller,
  EXTENSIONS,
  type ProtocolVersion,
  type TraceContext,
} from "@convoke/protocol";
import type { ServedAgent } from "../run/agents.ts";
import type { FileView } from "../files/task-files.ts";
import type { TaskScope } from "../run/live-tasks.ts";
import type { NewTaskOptions } from "../messages/incoming.ts";
import type { Engine } from "../run/engine.ts";

/** The extensions that the server implements for every agent. */
const SERVER_EXTENSIONS: readonly AgentExtension[] = [
  EXTENSIONS.resumption,
  EXTENSIONS.idempotency,
  EXTENSIONS.skill,
].map(({ uri, description, ...more }) => ({
  uri,
  description,
  required: false,
  ...("params" in more && { params: more.params }),
}));

/** The context of an operation, in addition to its request. */
export interface Call {
  readonly engine: Engine;
  /** The agent that the request addresses. */
  readonly agent: ServedAgent;
  readonly caller: Caller;
  readonly version: ProtocolVersion;
  readonly trace: TraceContext | undefined;
  /** The card fields for an authenticated caller; absent if the agent has no extended card. */
  readonly extendedCard?: ((caller: Caller) => Promise<AgentCardFacts | undefined>) | undefined;
  /** The extensions that are active for this request. Default none. */
  readonly extensions?: ReadonlySet<string> | undefined;
  readonly newTask?: NewTaskOptions | undefined;
  /** How the caller gets large files. */
  readonly files?: FileView | undefined;
  /** The cursor after which a stream resumes, as the client sent it. */
  readonly lastEventId: string | undefined;
}

/** The tasks that a request can see. */
export function scopeOf({
  engine,
  caller,
  agent,
}: Pick<Call, "engine" | "caller" | "agent">): TaskScope {
  return engine.scope(caller, agent);
}

/** The extensions on the card: those of the agent, then those of the server that the agent does not declare itself. */
export function declaredExtensions({ extensions = [] }: AgentInfo): readonly AgentExtension[] {
  const named = new Set(extensions.map(({ uri }) => uri));
  return [...extensions, ...SERVER_EXTENSIONS.filter(({ uri }) => !named.has(uri))];
}
