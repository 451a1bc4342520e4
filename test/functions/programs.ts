import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { FunctionTurn } from "convoke";

/** One thing that a function does. Each has a path of its own, which names its effect. */
type Act =
  | { readonly kind: "step"; readonly path: string; readonly ms: number }
  | { readonly kind: "error"; readonly path: string; readonly ms: number }
  | { readonly kind: "sleep"; readonly ms: number }
  | { readonly kind: "outside"; readonly ms: number }
  | { readonly kind: "ask"; readonly path: string }
  | { readonly kind: "race"; readonly path: string; readonly ms: number; readonly otherMs: number }
  | { readonly kind: "late"; readonly path: string; readonly ms: number }
  | { readonly kind: "all"; readonly chains: readonly Chain[] };

type Chain = readonly Act[];

export interface Program {
  readonly chains: readonly Chain[];
  /** Whether all steps have one name. */
  readonly isOneName: boolean;
  /** With ids, the code may also wait for timers and files of its own. */
  readonly hasIds: boolean;
}

/** Four orders at once: look up a price, sleep, charge. */
export function ordersOf(random: () => number): Program {
  const ms = (most: number): number => Math.floor(random() * most);
  const chains = [0, 1, 2, 3].map((chain): Chain => [
    { kind: "step", path: `${chain}.price`, ms: ms(10) },
    { kind: "sleep", ms: ms(30) },
    { kind: "step", path: `${chain}.charge`, ms: ms(10) },
  ]);
  return { chains, isOneName: random() < 0.5, hasIds: false };
}

/** A random program. */
export function programOf(random: () => number, hasIds = false): Program {
  const ms = (most: number): number => Math.floor(random() * most);
  const alike = ["step", "step", "step", "sleep", "error", "ask", "all"] as const;
  // Sleeps have no ids, so the winner of a race is known only if the code awaits nothing of its own.
  const kinds = hasIds ? alike : ([...alike, "race", "late"] as const);
  const actOf = (path: string, depth: number): Act => {
    if (hasIds && random() < 0.2) return { kind: "outside", ms: ms(8) };
    const kind = kinds[Math.floor(random() * kinds.length)]!;
    switch (kind) {
      case "step":
      case "error":
        return { kind, path, ms: ms(10) };
      case "sleep":
        return { kind, ms: ms(30) };
      case "ask":
        return { kind, path };
      case "race":
        return { kind, path, ms: ms(12), otherMs: ms(12) };
      case "late":
        return { kind, path, ms: ms(60) };
      case "all":
        return depth > 1
          ? { kind: "step", path, ms: ms(10) }
          : { kind, chains: chainsOf(path, 2, depth + 1) };
    }
  };
  const chainsOf = (path: string, most: number, depth: number): readonly Chain[] =>
    Array.from({ length: 1 + Math.floor(random() * most) }, (_chain, n) =>
      Array.from({ length: 1 + Math.floor(random() * 3) }, (_act, at) =>
        actOf(`${path}${n}.${at}`, depth),
      ),
    );
  return { chains: chainsOf("", 4, 0), isOneName: random() < 0.5, hasIds };
}

/** The world outside: it does each thing once for a key, however often it is asked. */
export class Service {
  readonly done = new Map<string, string>();
  readonly #receipts = new Map<string, string>();

  do(path: string, key: string): string {
    const known = this.#receipts.get(key);
    if (known !== undefined) return known;
    const receipt = `receipt of ${path}`;
    this.#receipts.set(key, receipt);
    this.done.set(path, `${this.done.get(path) ?? ""}x`);
    return receipt;
  }
}

/** Runs a program. @param isAlive whether the process of this attempt still lives */
export async function perform(
  { step, ask, sleep }: FunctionTurn,
  program: Program,
  { service, isAlive }: { readonly service: Service; readonly isAlive: () => boolean },
): Promise<string> {
  const pass = async (ms: number): Promise<void> => {
    if (ms > 0) await delay(ms);
    if (!isAlive()) await new Promise(() => undefined);
  };
  const nameOf = (path: string): string => (program.isOneName ? "work" : path);
  const stepOf = (path: string, ms: number, error?: string): Promise<string> =>
    step<Promise<string>>(
      nameOf(path),
      async ({ key }) => {
        await pass(ms);
        const receipt = service.do(path, key);
        if (error !== undefined) throw new Error(`${receipt}: ${error}`);
        return receipt;
      },
      program.hasIds ? { id: path } : {},
    );
  const act = async (one: Act): Promise<string> => {
    switch (one.kind) {
      case "step":
        return stepOf(one.path, one.ms);
      case "error":
        return stepOf(one.path, one.ms, "refused").catch((error: Error) => error.message);
      case "sleep":
        await sleep(one.ms);
        return "slept";
      case "outside":
        await (one.ms % 2 === 0 ? delay(one.ms) : readFile(import.meta.filename));
        return "waited";
      case "ask":
        return ask(`${one.path}?`);
      case "race": {
        const first = stepOf(`${one.path}.racer`, one.ms).then(() => "first");
        const winner = await Promise.race([first, sleep(one.otherMs).then(() => "second")]);
        return stepOf(`${one.path}.after.${winner}`, 1);
      }
      case "late": {
        const answer = await Promise.race([ask(`${one.path}?`), sleep(one.ms)]);
        return stepOf(`${one.path}.after.${answer === undefined ? "late" : "answer"}`, 1);
      }
      case "all":
        return (await Promise.all(one.chains.map(chain))).join(" ");
    }
  };
  const chain = async (acts: Chain): Promise<string> => {
    const results: string[] = [];
    for (const one of acts) results.push(await act(one));
    return `[${results.join(", ")}]`;
  };
  return (await Promise.all(program.chains.map(chain))).join(" ");
}

/** What is wrong with the end of a program: its answer and its effects. */
export function problemsOf(
  program: Program,
  { answer, service }: { readonly answer: string; readonly service: Service },
): readonly string[] {
  const problems: string[] = [];
  const once = (path: string): void => {
    const done = service.done.get(path);
    if (done !== "x") problems.push(`${path} was done ${done?.length ?? 0} times`);
    if (!answer.includes(`receipt of ${path}`)) problems.push(`the answer lacks ${path}`);
  };
  const either = (paths: readonly string[]): void => {
    const done = paths.filter((path) => service.done.has(path));
    if (done.length !== 1) problems.push(`of ${paths.join(", ")} these were done: ${done.join()}`);
    for (const path of done) once(path);
  };
  const check = (acts: Chain): void => {
    for (const one of acts) {
      if (one.kind === "step" || one.kind === "error") once(one.path);
      if (one.kind === "ask" && !answer.includes(`answer to ${one.path}?`)) {
        problems.push(`the answer lacks that to ${one.path}`);
      }
      if (one.kind === "race") either([`${one.path}.after.first`, `${one.path}.after.second`]);
      if (one.kind === "late") either([`${one.path}.after.late`, `${one.path}.after.answer`]);
      if (one.kind === "all") one.chains.forEach(check);
    }
  };
  program.chains.forEach(check);
  for (const [path, done] of service.done) if (done !== "x") problems.push(`${path}: ${done}`);
  return problems;
}
