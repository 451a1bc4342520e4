import type { AgentHealth } from "@convoke/protocol";
import type { Egress } from "@convoke/egress";
import { backoffMs, startTimer } from "@convoke/protocol/internal";
import type { Logger, RegistryRecord, RegistryStore } from "@convoke/engine";
import { CardProblem, type CardSummary, readCard } from "./read-card.ts";

interface HealthCheckParts {
  readonly store: RegistryStore;
  readonly egress: Egress;
  readonly logger: Logger;
  readonly checkEveryMs: number;
  /** Entries without a heartbeat for this long are not checked: nobody vouches for them any more. */
  readonly staleAfterMs: number;
  /** Entries without a heartbeat for this long are removed. */
  readonly removeAfterMs: number;
}

/** How many agents are checked at the same time. */
const MAX_CONCURRENT = 4;

/** The shortest and the longest pause between two looks at the registry. */
const SWEEP_MS = { least: 10, most: 30_000 };

const PAGE = 256;

/** How long a check may take before another server makes it. */
const CLAIM_MS = 60_000;

/**
 * Reads the cards of registered agents again and again, and stores whether that worked. When an
 * agent is due is in its entry, so a restart neither skips nor repeats checks. Removes entries whose
 * last heartbeat is too long ago.
 */
export class HealthChecks {
  readonly #parts: HealthCheckParts;
  readonly #closing = new AbortController();
  #stopTimer: () => void = () => undefined;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(parts: HealthCheckParts) {
    this.#parts = parts;
    this.#schedule();
  }

  /** Stops the checks. Resolves when none is running, so that the store can be closed. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#stopTimer();
    await this.#sweeping;
  }

  #schedule(): void {
    const { checkEveryMs } = this.#parts;
    const waitMs = Math.min(SWEEP_MS.most, Math.max(SWEEP_MS.least, checkEveryMs / 10));
    const sweep = (): void => {
      this.#sweeping = this.#sweep().then(() => {
        if (!this.#closing.signal.aborted) this.#schedule();
      });
    };
    this.#stopTimer = startTimer(waitMs, sweep, { unref: true });
  }

  async #sweep(): Promise<void> {
    const due: RegistryRecord[] = [];
    await this.#logged(async () => {
      for (let after = ""; ;) {
        const page = await this.#parts.store.list(after, PAGE);
        for (const record of page) if (await this.#isDue(record)) due.push(record);
        if (page.length < PAGE) break;
        after = page.at(-1)!.id;
      }
    });
    const queue = due.values();
    await Promise.all(Array.from({ length: MAX_CONCURRENT }, () => this.#checkAll(queue)));
  }

  /** A failure of the storage must not end the checks. */
  async #logged(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#parts.logger.error("the health of registered agents could not be checked", { error });
    }
  }

  /** Removes an entry that has expired. */
  async #isDue({ id, heartbeatAt, nextCheckAt }: RegistryRecord): Promise<boolean> {
    const { store, logger, staleAfterMs, removeAfterMs } = this.#parts;
    const silentMs = Date.now() - Date.parse(heartbeatAt);
    if (silentMs < removeAfterMs) return silentMs < staleAfterMs && nextCheckAt <= Date.now();
    await store.delete(id);
    logger.info("a registered agent was removed after too long without a heartbeat", { id });
    return false;
  }

  /** Takes entries from a queue that several calls share. */
  async #checkAll(queue: Iterable<RegistryRecord>): Promise<void> {
    for (const { id, cardUrl } of queue) {
      if (this.#closing.signal.aborted) return;
      await this.#logged(async () => {
        if (!(await this.#claim(id))) return;
        const result = await this.#read(cardUrl);
        await this.#parts.store.update(id, (known) => this.#withResult(known, result));
      });
    }
  }

  /** Of several servers that share the registry, one makes the check. */
  async #claim(id: string): Promise<boolean> {
    let isOwn = false;
    await this.#parts.store.update(id, (known) => {
      isOwn = known.nextCheckAt <= Date.now();
      return isOwn ? { ...known, nextCheckAt: Date.now() + CLAIM_MS } : undefined;
    });
    return isOwn;
  }

  async #read(cardUrl: string): Promise<CardSummary | CardProblem> {
    const { egress } = this.#parts;
    const { signal } = this.#closing;
    return readCard(cardUrl, { egress, signal }).catch((error: unknown) => {
      if (error instanceof CardProblem) return error;
      throw error;
    });
  }

  /** The agent keeps the name that it was registered with; the rest of the card may change. */
  #withResult(known: RegistryRecord, result: CardSummary | CardProblem): RegistryRecord {
    const { checkEveryMs } = this.#parts;
    const health = afterCheck(known.health, result, Date.now());
    const nextCheckAt = Date.now() + pauseMs(health.failures, checkEveryMs);
    if (result instanceof CardProblem) return { ...known, health, nextCheckAt };
    const { description, skills } = result;
    return { ...known, description, skills, health, nextCheckAt };
  }
}

/** After so many checks, the numbers are halved: what happened last counts most. */
const MAX_CHECKS = 1000;

/** The health after another check. */
export function afterCheck(
  health: AgentHealth,
  result: Pick<CardSummary, "latencyMs"> | CardProblem,
  now: number,
): AgentHealth {
  const { problem: _, ...known } = health;
  const share = known.checks < MAX_CHECKS ? 1 : 0.5;
  const checks = Math.floor(known.checks * share) + 1;
  const answered = Math.floor(known.answered * share);
  const checkedAt = new Date(now).toISOString();
  if (result instanceof CardProblem) {
    const { failures } = known;
    const problem = result.message;
    return {
      ...known,
      state: "down",
      checks,
      answered,
      failures: failures + 1,
      checkedAt,
      problem,
    };
  }
  const { latencyMs } = result;
  return {
    ...known,
    state: "up",
    checks,
    answered: answered + 1,
    failures: 0,
    checkedAt,
    lastSeenAt: checkedAt,
    latencyMs,
  };
}

const HOUR_MS = 60 * 60_000;

/**
 * The time until the next check. It is partly random, so that agents which were registered together
 * are not checked together for ever. An agent that fails is checked less and less often.
 */
export function pauseMs(failures: number, checkEveryMs: number): number {
  if (failures === 0) return checkEveryMs * (0.9 + 0.2 * Math.random());
  const longestMs = Math.max(checkEveryMs, HOUR_MS);
  return backoffMs(failures + 1, { firstMs: checkEveryMs, longestMs });
}
