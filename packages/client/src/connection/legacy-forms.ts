import {
  type Calls,
  type Codec,
  type RawCard,
  type Streams,
  legacyFormInCard,
  legacyFormInResponse,
} from "@convoke/protocol";
import type { LegacyForm, OnAgentNotice } from "./agent-notice.ts";

const PROBLEMS: Readonly<Record<LegacyForm, string>> = {
  kind: 'its responses have a "kind", which A2A 1.0 removed',
  "no-kind": 'its responses have no "kind", which A2A 0.3 requires',
  "extended-card":
    "its card has supportsAuthenticatedExtendedCard, which A2A 1.0 calls capabilities.extendedAgentCard",
};

/** Reports each legacy form that an agent uses once (1.0 §A.2). */
export class LegacyForms {
  readonly #url: string;
  readonly #onNotice: OnAgentNotice;
  readonly #reported = new Set<LegacyForm>();

  constructor(url: string, onNotice: OnAgentNotice = () => undefined) {
    this.#url = url;
    this.#onNotice = onNotice;
  }

  lookAtCard(card: RawCard): void {
    this.#report(legacyFormInCard(card));
  }

  /** Checks a response before it is decoded. */
  lookAt(
    operation: keyof Calls | keyof Streams,
    dialect: Codec["dialect"],
    response: unknown,
  ): void {
    this.#report(legacyFormInResponse(operation, dialect, response));
  }

  #report(form: LegacyForm | undefined): void {
    if (form === undefined || this.#reported.has(form)) return;
    this.#reported.add(form);
    const message = `${this.#url} uses a legacy form of A2A: ${PROBLEMS[form]}`;
    this.#onNotice({ kind: "legacy-form", message, form });
  }
}
