import type { Wanted, Work } from "./work.ts";

/** The work of one task of the root, and its outcome. */
export interface Plan {
  readonly work: Work;
  /** How long after its start its caller cancels it; most are not canceled. */
  readonly cancelAfterMs?: number;
}

const UNKNOWN = "Unknown: a crash cut this call; it may or may not have done its work.";
const REJECTED = "Not run: the user rejected it.";

/**
 * A task of root calls middle twice in parallel, and each time middle calls leaf twice, one after
 * the other; all of them also call tools themselves, and some of those need an approval.
 */
export function aPlan(place: number, random: () => number): Plan {
  const id = `t${place}`;
  const pauseMs = Math.floor(40 * random());
  const act = (tool: string, path: string): Wanted => ({ tool, input: { path } });
  const leaf = (path: string): Wanted => {
    const tool = random() < 0.3 ? "delete" : "write";
    const rounds = [[act("read", `${path}.r`)], [act(tool, `${path}.w`)]];
    return { agent: "leaf", work: { id: path, rounds, pauseMs } };
  };
  const middle = (path: string): Wanted => {
    const rounds = [[act("write", `${path}.w`), leaf(`${path}.0`)], [leaf(`${path}.1`)]];
    return { agent: "middle", work: { id: path, rounds, pauseMs } };
  };
  const rounds = [[middle(`${id}.0`), middle(`${id}.1`)], [act("read", `${id}.r`)]];
  const cancelAfterMs = 50 + Math.floor(1500 * random());
  return { work: { id, rounds, pauseMs }, ...(place % 5 === 4 && { cancelAfterMs }) };
}

/** Whether a call is rejected, by the path that it has. */
export type IsRejected = (path: string) => boolean;

/**
 * The final output of an agent. For a call that a crash interrupted it is unknown whether it did
 * its work.
 */
export function wordsFor(
  agent: string,
  { rounds }: Work,
  isRejected: IsRejected = () => false,
): RegExp {
  return new RegExp(`^${patternFor(agent, rounds, isRejected)}$`);
}

/** A pattern that matches exactly this text. */
function literal(text: string): string {
  return text.replaceAll(/[.()]/g, "\\$&");
}

function patternFor(agent: string, rounds: Work["rounds"], isRejected: IsRejected): string {
  const heard = rounds.flat().map((wanted) => {
    if ("agent" in wanted) {
      const { agent: other, work } = wanted;
      return work === "the same" ? "" : patternFor(other, work.rounds, isRejected);
    }
    const { path } = wanted.input as { readonly path: string };
    if (wanted.tool === "delete" && isRejected(path)) return literal(REJECTED);
    const verbs: Record<string, string> = { read: "read", write: "wrote", delete: "deleted" };
    const done = literal(`${verbs[wanted.tool]} ${path}`);
    return wanted.tool === "read" ? done : `(?:${done}|${literal(UNKNOWN)}[^,]*)`;
  });
  return `${agent} heard: ${heard.join(", ")}`;
}
