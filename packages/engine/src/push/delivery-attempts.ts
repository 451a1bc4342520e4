import type { PushPosition } from "../log/backend.ts";
import type { Outcome } from "./endpoint.ts";

/** An attempt to deliver a notification. */
export interface DeliveryAttempt {
  /** When it began, in milliseconds since the epoch. */
  readonly at: number;
  readonly durationMs: number;
  /** The HTTP status of the answer. Absent if there was none. */
  readonly status?: number;
  /** Why it failed. */
  readonly problem?: string;
}

/** Describes an attempt that ends now. */
export function describeAttempt(outcome: Outcome, at: number, endedAt: number): DeliveryAttempt {
  const { status } = outcome;
  return {
    at,
    durationMs: endedAt - at,
    ...(status !== undefined && { status }),
    ...(outcome.kind !== "delivered" && { problem: outcome.problem }),
  };
}

const MAX_ATTEMPTS = 20;

const MAX_CONFIGS = 1000;

/**
 * Remembers the last attempts for the configs that were delivered to most recently. By config and not
 * by endpoint: owners that share an endpoint must not see each other's deliveries.
 */
export class DeliveryAttempts {
  readonly #attempts = new Map<string, readonly DeliveryAttempt[]>();

  add(config: PushPosition, attempt: DeliveryAttempt): void {
    const key = configKey(config);
    const before = this.#attempts.get(key) ?? [];
    this.#attempts.delete(key);
    this.#attempts.set(key, [...before, attempt].slice(-MAX_ATTEMPTS));
    if (this.#attempts.size <= MAX_CONFIGS) return;
    const [oldest] = this.#attempts.keys();
    this.#attempts.delete(oldest!);
  }

  /** Oldest first. */
  get(config: PushPosition): readonly DeliveryAttempt[] {
    return this.#attempts.get(configKey(config)) ?? [];
  }

  delete(config: PushPosition): void {
    this.#attempts.delete(configKey(config));
  }
}

/** Unique, because a task id contains no line break. */
export function configKey({ taskId, id }: PushPosition): string {
  return `${taskId}\n${id}`;
}
