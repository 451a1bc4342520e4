import {
  type AgentExtension,
  type AgentInfo,
  type AgentSkill,
  type InputTimeout,
  checkAgentExtensions,
} from "@convoke/protocol";

/** What the card of an agent says, and how it is served. */
export interface AgentFacts {
  readonly name: string;
  readonly description: string;
  /** By default "1.0.0". */
  readonly version?: string;
  /** By default one skill with the agent's own name and description. */
  readonly skills?: readonly AgentSkill[];
  /** Media types it reads; by default text and JSON. */
  readonly inputModes?: readonly string[];
  /** Media types it writes; by default text and JSON. */
  readonly outputModes?: readonly string[];
  /**
   * Extensions of A2A that it supports, for its card. Those that a caller activates are in
   * `extensions` of its turn; a `required` one that is not activated refuses the message.
   */
  readonly extensions?: readonly AgentExtension[];
  /** Whether it may answer with one message and no task. */
  readonly replies?: boolean;
  /** Keeps a stream open while the agent waits for input, instead of ending it. */
  readonly keepStreamOnInterrupt?: boolean;
  /** Takes messages while it works: they come through `inbox`. */
  readonly takesMessages?: boolean;
  /**
   * A run that a crash cut is begun anew from the top, instead of failing as
   * interrupted. A function that uses `step`, `ask` or `sleep` needs it not: it
   * goes on by its journal.
   */
  readonly restart?: boolean;
  /** How long a task may take in all, in milliseconds. By default it may take for ever. */
  readonly timeoutMs?: number;
  /** How long an unanswered question waits, and whether the agent then goes on or the task fails. */
  readonly inputTimeout?: InputTimeout;
}

const DEFAULT_MODES = ["text/plain", "application/json"];

/** What the card says, with every default. */
export function agentInfo(definition: AgentFacts): AgentInfo {
  const { name, description, version = "1.0.0" } = definition;
  if (typeof name !== "string" || name.trim() === "") throw missing("a name");
  if (typeof description !== "string" || description.trim() === "") throw missing("a description");
  checkAgentExtensions(definition.extensions ?? []);
  return {
    name,
    description,
    version,
    skills: definition.skills ?? [ownSkill(name, description)],
    inputModes: definition.inputModes ?? DEFAULT_MODES,
    outputModes: definition.outputModes ?? DEFAULT_MODES,
    ...(definition.extensions && { extensions: definition.extensions }),
    replies: definition.replies ?? false,
    keepStreamOnInterrupt: definition.keepStreamOnInterrupt ?? false,
    takesMessages: definition.takesMessages ?? false,
    restart: definition.restart ?? false,
    ...(definition.timeoutMs !== undefined && { timeoutMs: definition.timeoutMs }),
    ...(definition.inputTimeout && { inputTimeout: definition.inputTimeout }),
  };
}

/** Cards must list skills; an agent that says nothing has one. */
function ownSkill(name: string, description: string): AgentSkill {
  const id = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return { id, name, description, tags: [id] };
}

/** What a definition lacks, and how it looks. */
export function missing(what: string): TypeError {
  return new TypeError(`defineAgent needs ${what}: defineAgent({ name, description, run })`);
}
