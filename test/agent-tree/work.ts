/** What an agent of a tree should do, as its message describes it: rounds of calls. */
export interface Work {
  /** Identifies its records among those of others. */
  readonly id: string;
  readonly rounds: readonly (readonly Wanted[])[];
  /** How long its model pauses before each answer, so that something can happen there. */
  readonly pauseMs?: number;
  /** Its model sends nothing, and does not end. */
  readonly isSilent?: boolean;
}

export type Wanted =
  | { readonly tool: string; readonly input: object }
  /** "the same" passes on the work that the agent was given. */
  | { readonly agent: string; readonly work: Work | "the same" };

/** The message that requests some work. */
export function messageFor(work: Work): string {
  return JSON.stringify(work);
}

/** Work that each of these agents passes on to the next, down to the last one, which does it. */
export function through(agents: readonly string[], work: Work): Work {
  return agents.reduceRight<Work>(
    (below, agent) => ({ id: work.id, rounds: [[{ agent, work: below }]] }),
    work,
  );
}
