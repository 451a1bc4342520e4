import { type OpenRequest, interruptRequest } from "../approvals/open-request.ts";
import type { Interrupt, InterruptAnswer } from "../tools/tool.ts";
import type { ToolInterruptEvent } from "../run/loop-events.ts";

interface Asked {
  readonly interrupts: readonly Interrupt[];
  /** Where the journal has it; 0 for what was asked in this attempt. */
  readonly place: number;
}

/** What one call asked for in its rounds, and the answers it got. */
export class CallInterrupts {
  readonly #toolCallId: string;
  readonly #asked: Asked[] = [];
  readonly #answers = new Map<string, InterruptAnswer>();
  #open: readonly Interrupt[] = [];

  constructor(toolCallId: string) {
    this.#toolCallId = toolCallId;
  }

  /** By the names that the tool gave its requests. */
  get answers(): ReadonlyMap<string, InterruptAnswer> {
    return this.#answers;
  }

  /** The unanswered requests of its last round. */
  get open(): readonly OpenRequest[] {
    return this.#open
      .filter(({ requestId }) => !this.#answers.has(requestId))
      .map((interrupt) => interruptRequest(this.#toolCallId, interrupt));
  }

  /** What earlier attempts asked for; open is the last of it, unless a later round has begun. */
  load(
    noted: readonly ToolInterruptEvent[],
    facts: { readonly isOpen: boolean; readonly placeOf: (event: ToolInterruptEvent) => number },
  ): void {
    for (const event of noted) {
      this.#asked.push({ interrupts: event.interrupts, place: facts.placeOf(event) });
    }
    this.#open = facts.isOpen ? (noted.at(-1)?.interrupts ?? []) : [];
  }

  /** A round ended with questions. What it asks for again is open again. */
  ask(interrupts: readonly Interrupt[]): void {
    for (const { requestId } of interrupts) this.#answers.delete(requestId);
    this.#asked.push({ interrupts, place: 0 });
    this.#open = interrupts;
  }

  /**
   * Takes an answer, and where the journal has it: one that came before the
   * question was asked again does not answer that. Returns what was answered.
   */
  answer(requestId: string, answer: InterruptAnswer, place: number): Interrupt | undefined {
    const isMeant = (one: Interrupt): boolean =>
      interruptRequest(this.#toolCallId, one).requestId === requestId;
    const asked = this.#asked.findLast(({ interrupts }) => interrupts.some(isMeant));
    const interrupt = asked?.interrupts.find(isMeant);
    if (asked === undefined || interrupt === undefined || asked.place > place) return undefined;
    this.#answers.set(interrupt.requestId, answer);
    return interrupt;
  }

  /** No answer will come. */
  giveUp(): void {
    this.#open = [];
  }
}
