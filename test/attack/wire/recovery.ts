import { setTimeout as sleep } from "node:timers/promises";
import { Fell, fellIf } from "../attack.ts";
import type { Target, Usage } from "../target.ts";
import { cardUrl } from "./card.ts";

/** What a flood may leave behind: V8 and the allocator do not return everything at once. */
const MEMORY_BYTES = 300 * 1024 * 1024;
const DESCRIPTORS = 10;

/** How long a server may take to answer after an attack. */
const ANSWER_MS = 30_000;

/** How long a server may take to close what a flood has opened. */
const TIDY_MS = 60_000;

/** Waits until the server answers a stranger's request for its card: it may still be closing connections. */
export async function checkAnswers({ url, isRunning }: Target): Promise<void> {
  const until = performance.now() + ANSWER_MS;
  for (;;) {
    if (isRunning?.() === false) throw new Fell("the process of the server ended");
    const signal = AbortSignal.timeout(ANSWER_MS);
    const response = await fetch(cardUrl(url), { signal }).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.status === 200) return;
    const got = response?.status ?? "nothing";
    fellIf(performance.now() > until, `the server no longer answers (${got})`);
    await sleep(100);
  }
}

/** Runs a flood; afterwards the server must answer, and hold no more descriptors or memory than before. */
export async function flood(target: Target, run: () => Promise<void>): Promise<void> {
  const before = await target.usage?.();
  await run();
  await checkAnswers(target);
  if (before === undefined) return;
  const until = performance.now() + TIDY_MS;
  let left = await leftBehind(target, before);
  while (left !== undefined && performance.now() < until) {
    await sleep(100);
    left = await leftBehind(target, before);
  }
  if (left !== undefined) throw new Fell(left);
}

async function leftBehind({ usage }: Target, before: Usage): Promise<string | undefined> {
  const now = await usage!();
  const descriptors = now.descriptors - before.descriptors;
  if (descriptors > DESCRIPTORS) return `${descriptors} descriptors stay open`;
  const bytes = now.memoryBytes - before.memoryBytes;
  return bytes > MEMORY_BYTES ? `${Math.round(bytes / 1e6)} MB stay in use` : undefined;
}
