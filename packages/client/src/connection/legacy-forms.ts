import type { Calls, Codec, RawCard, Streams } from "@convoke/protocol";
import type { LegacyForm, OnAgentNotice } from "./agent-notice.ts";

/** What answers with a task, a message or an event, which is where versions differ by `kind`. */
const HAVE_KINDS: ReadonlySet<keyof Calls | keyof Streams> = new Set([
  "sendMessage",
  "getTask",
  "cancelTask",
  "sendStreamingMessage",
  "subscribeToTask",
]);

const PROBLEMS: Readonly<Record<LegacyForm, string>> = {
  kind: 'its answers have a "kind", which A2A 1.0 has no more',
  "no-kind": 'its answers have no "kind", which A2A 0.3 demands',
  "extended-card":
    "its card has supportsAuthenticatedExtendedCard, which A2A 1.0 calls capabilities.extendedAgentCard",
};

/** Tells of each old form that an agent uses, once (1.0 §A.2). */
export class LegacyForms {
  readonly #url: string;
  readonly #onNotice: OnAgentNotice;
  readonly #told = new Set<LegacyForm>();

  constructor(url: string, onNotice: OnAgentNotice = () => undefined) {
    this.#url = url;
    this.#onNotice = onNotice;
  }

  lookAtCard(card: RawCard): void {
    // A card for both versions has both names, each for its readers.
    if (card["supportedInterfaces"] === undefined || hasToday(card)) return;
    if (card["supportsAuthenticatedExtendedCard"] === true) this.#tell("extended-card");
  }

  /** Looks at an answer as it came. */
  lookAt(operation: keyof Calls | keyof Streams, dialect: Codec["dialect"], answer: unknown): void {
    if (!HAVE_KINDS.has(operation) || typeof answer !== "object" || answer === null) return;
    if (dialect === "1.0" && "kind" in answer) this.#tell("kind");
    if (dialect === "0.3" && !("kind" in answer)) this.#tell("no-kind");
  }

  #tell(form: LegacyForm): void {
    if (this.#told.has(form)) return;
    this.#told.add(form);
    const message = `${this.#url} writes as an earlier A2A did: ${PROBLEMS[form]}`;
    this.#onNotice({ kind: "legacy-form", message, form });
  }
}

function hasToday(card: RawCard): boolean {
  const capabilities = card["capabilities"];
  return (
    typeof capabilities === "object" && capabilities !== null && "extendedAgentCard" in capabilities
  );
}
