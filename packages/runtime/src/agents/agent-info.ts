import {
  type AgentExtension,
  type AgentInfo,
  type AgentSkill,
  type InputTimeout,
  type RequiredScopes,
  checkAgentExtensions,
  completeAgentInfo,
} from "@convoke/protocol";
import { checkAgentId } from "@convoke/protocol/internal";

/** The agent card, and how the agent is served. */
export interface AgentFacts {
  /**
   * Identifies the agent to its stored tasks: 1 to 64 lower case letters, digits, ".", "_" or "-".
   * Default: made of `name` at the first start and kept with the data, so that a new name keeps the
   * tasks of an agent that `convoke serve` loads from a file. Set it if your code serves the agent,
   * or if several processes or deployments share a data folder.
   */
  readonly id?: string;
  readonly name: string;
  readonly description: string;
  /** Default "1.0.0". */
  readonly version?: string;
  /** Default: one skill with the agent's own name and description. */
  readonly skills?: readonly AgentSkill[];
  /** The organization behind it, for its card. */
  readonly provider?: { readonly organization: string; readonly url: string };
  /** Where its documentation is, for its card. */
  readonly documentationUrl?: string;
  /** Its picture, for its card. */
  readonly iconUrl?: string;
  /** Media types it reads. Default: text and JSON. */
  readonly inputModes?: readonly string[];
  /** Media types it writes. Default: text and JSON. */
  readonly outputModes?: readonly string[];
  /**
   * Extensions of A2A that it supports, for its card. Those that a caller activates are in
   * `extensions` of its turn; a `required` one that is not activated refuses the message.
   */
  readonly extensions?: readonly AgentExtension[];
  /** Whether it may answer with one message and no task. Default false. */
  readonly replies?: boolean;
  /** Keeps a stream open while the agent waits for input, instead of ending it. Default false. */
  readonly keepStreamOnInterrupt?: boolean;
  /** Accepts messages while it works: they come through `inbox`. Default false. */
  readonly takesMessages?: boolean;
  /**
   * A run that a crash interrupted restarts from the top, instead of failing as
   * interrupted. Output that is the same again is not sent again; an artifact that
   * differs begins again (`append: false`). A function that uses `step`, `ask` or `sleep` does not need this: it
   * resumes from its journal. A turn that has written nothing yet always begins again. Default false.
   */
  readonly restart?: boolean;
  /**
   * Whether the `completed` status carries the answer as its message, in addition to the artifacts:
   * for clients that read only the status. For an agent with a model that is its final answer, for
   * others the text of the artifacts. Default false, because some clients show artifacts and
   * status messages one after the other, and would show the answer twice. The server can have it for
   * all of its agents (`convoke serve --final-message`).
   */
  readonly finalMessage?: boolean;
  /**
   * Whether its tasks need what is on the disk of the machine that they began on. If several servers
   * share a database, only those with the same host id (`CONVOKE_HOST_ID`) then work on a task and on
   * those that continue its conversation. Default false: any server does.
   */
  readonly local?: boolean;
  /** How long a task may take in all, in milliseconds. Default: no limit. */
  readonly timeoutMs?: number;
  /**
   * What happens to a task that the agent works on when the last client disconnects from its
   * stream. Default "continue": the task is durable, and the client can come back for it. With
   * "cancel" it is canceled, unless a client subscribes again within 5 seconds, as clients do that
   * resume. Tasks that wait for input, or were sent without a stream, are not affected.
   */
  readonly onDisconnect?: "continue" | "cancel";
  /** How long a question waits for its answer, and whether the agent then continues or the task fails. Default: it waits as long as the task. */
  readonly inputTimeout?: InputTimeout;
  /**
   * The scopes that callers need, by skill and by operation. A caller without them is rejected with
   * 403. Default none.
   */
  readonly scopes?: RequiredScopes;
}

/** The agent card, with every default. */
export function agentInfo(definition: AgentFacts): AgentInfo {
  const { name, description } = definition;
  if (typeof name !== "string" || name.trim() === "") throw missing("a name");
  if (typeof description !== "string" || description.trim() === "") throw missing("a description");
  checkAgentExtensions(definition.extensions ?? []);
  const { version, skills, inputModes, outputModes } = definition;
  const { replies, keepStreamOnInterrupt, takesMessages, restart } = definition;
  return completeAgentInfo({
    name,
    description,
    ...(version !== undefined && { version }),
    ...(skills && { skills }),
    ...(inputModes && { inputModes }),
    ...(outputModes && { outputModes }),
    ...(replies !== undefined && { replies }),
    ...(keepStreamOnInterrupt !== undefined && { keepStreamOnInterrupt }),
    ...(takesMessages !== undefined && { takesMessages }),
    ...(restart !== undefined && { restart }),
    ...(definition.provider && { provider: definition.provider }),
    ...(definition.documentationUrl && { documentationUrl: definition.documentationUrl }),
    ...(definition.iconUrl && { iconUrl: definition.iconUrl }),
    ...(definition.extensions && { extensions: definition.extensions }),
    ...(definition.finalMessage === true && { finalMessage: true }),
    ...(definition.local === true && { local: true }),
    ...(definition.timeoutMs !== undefined && { timeoutMs: definition.timeoutMs }),
    ...(definition.onDisconnect && { onDisconnect: definition.onDisconnect }),
    ...(definition.inputTimeout && { inputTimeout: definition.inputTimeout }),
    ...(definition.scopes && { scopes: definition.scopes }),
  });
}

/** The id as a field of an agent, if the author gave one. */
export function agentIdField({ id }: Pick<AgentFacts, "id">): { readonly id?: string } {
  if (id === undefined) return {};
  checkAgentId(id);
  return { id };
}

/** The error for an incomplete definition, with the correct form. */
export function missing(what: string): TypeError {
  return new TypeError(`defineAgent needs ${what}: defineAgent({ name, description, run })`);
}
