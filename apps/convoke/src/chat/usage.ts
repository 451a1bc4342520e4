import { type PublicEvent, isTerminal } from "@convoke/protocol";
import { objectField } from "../terminal/json-fields.ts";

interface Used {
  readonly tokens: number;
  readonly cost?: number;
}

/** The tokens and the cost of a chat, as far as the agent reports them when its tasks end. */
export class ChatUsage {
  /** By task, because a stream that is replayed reports the same task again. */
  readonly #used = new Map<string, Used>();

  see(event: PublicEvent): void {
    if (event.kind !== "status-update" || !isTerminal(event.status.state)) return;
    const { inputTokens, outputTokens, cost } = objectField(event.metadata, "usage");
    if (typeof inputTokens !== "number" || typeof outputTokens !== "number") return;
    const tokens = inputTokens + outputTokens;
    this.#used.set(event.taskId, { tokens, ...(typeof cost === "number" && { cost }) });
  }

  /** In words, such as "3.1k tokens · $0.04"; `undefined` if nothing was reported. */
  get text(): string | undefined {
    const all = [...this.#used.values()];
    if (all.length === 0) return undefined;
    const tokens = all.reduce((sum, used) => sum + used.tokens, 0);
    const costs = all.flatMap(({ cost }) => cost ?? []);
    const cost = costs.reduce((sum, one) => sum + one, 0);
    return [`${short(tokens)} tokens`, ...(costs.length === 0 ? [] : [dollars(cost)])].join(" · ");
  }
}

function short(count: number): string {
  if (count < 1000) return String(count);
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1e6).toFixed(1)}M`;
}

/** Small amounts keep their first digits. */
function dollars(cost: number): string {
  return `$${cost >= 0.01 || cost === 0 ? cost.toFixed(2) : cost.toPrecision(1)}`;
}
