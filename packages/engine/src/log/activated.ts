import type { AgentEvent, InternalEvent } from "@convoke/protocol";

/** What a message that activates nothing has. */
export const NO_EXTENSIONS: ReadonlySet<string> = new Set();

const ACTIVATED = "internal:activated";

/**
 * Notes after the first event of a log what the message had activated that began the task: the
 * task itself is shown to everyone as it is stored. Of later messages, their own event says it.
 */
export function activatedNote(
  taskId: string,
  extensions: ReadonlySet<string> = NO_EXTENSIONS,
): readonly AgentEvent[] {
  return extensions.size === 0 ? [] : [{ kind: ACTIVATED, taskId, ...activatedFields(extensions) }];
}

export function isActivatedNote({ kind }: InternalEvent): boolean {
  return kind === ACTIVATED;
}

/** The same as fields of an event; none where nothing is active, so that such logs stay as they were. */
export function activatedFields(extensions: ReadonlySet<string> = NO_EXTENSIONS): {
  readonly extensions?: readonly string[];
} {
  return extensions.size === 0 ? {} : { extensions: [...extensions] };
}

/** What the event of a log says was activated. */
export function activatedIn(event: InternalEvent): ReadonlySet<string> {
  const extensions = event["extensions"];
  return Array.isArray(extensions) ? new Set(extensions as readonly string[]) : NO_EXTENSIONS;
}
