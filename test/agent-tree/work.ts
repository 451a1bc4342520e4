/** What an agent of a tree is to do, as its message says it: round after round of calls. */
export interface Work {
  /** By which its notes are found among those of others. */
  readonly id: string;
  readonly rounds: readonly (readonly Wanted[])[];
  /** How long its model pauses before each answer, so that something can happen there. */
  readonly pauseMs?: number;
  /** Its model says nothing, and does not end. */
  readonly isSilent?: boolean;
}

export type Wanted =
  | { readonly tool: string; readonly input: object }
  /** "the same" hands on the very work that the agent was given. */
  | { readonly agent: string; readonly work: Work | "the same" };

/** The message that asks for some work. */
export function messageFor(work: Work): string {
  return JSON.stringify(work);
}

/** Work that each of these agents hands on to the next, down to the last one, which does it. */
export function through(agents: readonly string[], work: Work): Work {
  return agents.reduceRight<Work>(
    (below, agent) => ({ id: work.id, rounds: [[{ agent, work: below }]] }),
    work,
  );
}
