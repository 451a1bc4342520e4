import { A2AError, type AgentCardFacts, type Caller, type SpecPatch } from "@convoke/protocol";
import type { Cors } from "./http/cors.ts";
import type { HttpRequest } from "./http/exchange.ts";
import { type Call, type Engine, type Logger, newErrorId, type PushService } from "@convoke/engine";
import type { CardBinding } from "./cards/card-binding.ts";
import type { KeepAlive } from "./bindings/keep-alive.ts";
import type { Guard } from "./guard/guard.ts";

/** The parts of a running server that requests meet. */
export class App {
  readonly engine: Engine;
  readonly guard: Guard;
  readonly cors: Cors;
  readonly card: CardBinding;
  readonly keepAlive: KeepAlive;
  readonly logger: Logger;
  /** Absent when this server pushes nothing. */
  readonly push: PushService | undefined;
  /** The tenants that are served. */
  readonly tenants: ReadonlySet<string>;
  /** Only official forms are taken, in the version that the caller names. */
  readonly isStrict: boolean;
  /** Whose table of statuses is used for errors. */
  readonly specPatch: SpecPatch;
  readonly extendedCard:
    | ((request: HttpRequest, caller: Caller) => Promise<AgentCardFacts | undefined>)
    | undefined;

  constructor(parts: Omit<App, "explain" | "extendedCardFor">) {
    this.engine = parts.engine;
    this.guard = parts.guard;
    this.cors = parts.cors;
    this.card = parts.card;
    this.keepAlive = parts.keepAlive;
    this.logger = parts.logger;
    this.push = parts.push;
    this.tenants = parts.tenants;
    this.isStrict = parts.isStrict;
    this.specPatch = parts.specPatch;
    this.extendedCard = parts.extendedCard;
  }

  /** The extended card at the address of a request, if there is one. */
  extendedCardFor(request: HttpRequest): Call["extendedCard"] {
    const { extendedCard } = this;
    return extendedCard && ((caller) => extendedCard(request, caller));
  }

  /** Makes what was thrown safe to send. An unknown error is logged under the id that its caller gets. */
  explain(thrown: unknown): A2AError {
    if (A2AError.is(thrown)) return thrown;
    const errorId = newErrorId();
    this.logger.error("a request failed", { errorId, error: thrown });
    return A2AError.from(thrown, errorId);
  }
}
