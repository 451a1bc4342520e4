import {
  ENGINE_EVENTS,
  type InternalEvent,
  type Message,
  isMessageReceived,
} from "@convoke/protocol";
import type { AskEvent, OpenRequest } from "@convoke/runtime";

/** What was asked, and what came back. */
export interface PastQuestion {
  readonly request: OpenRequest;
  /** Whether it is over: with an answer, or without one because none came in time. */
  readonly isOver: boolean;
  readonly answer: Message | undefined;
}

/**
 * What earlier attempts of a turn asked. A program that is started again asks again: if it asks
 * exactly the same, the answer counts, once.
 */
export class TurnJournal {
  readonly #questions: PastQuestion[] = [];

  constructor(events: readonly InternalEvent[]) {
    for (const event of events) this.#add(event);
    // A decision was used up if its call is over.
    for (const { kind, toolCallId } of events) {
      if (kind !== "internal:tool-complete") continue;
      const place = this.#questions.findIndex(({ request }) => request.toolCallId === toolCallId);
      if (place >= 0) this.#questions.splice(place, 1);
    }
  }

  /** The question that waits for its answer. */
  get pending(): PastQuestion | undefined {
    const last = this.#questions.at(-1);
    return last?.isOver === false ? last : undefined;
  }

  /** The last question, if it is over. */
  get last(): PastQuestion | undefined {
    const last = this.#questions.at(-1);
    return last?.isOver === true ? last : undefined;
  }

  /** Ends the pending question. */
  settle(answer: Message | undefined): void {
    const { pending } = this;
    if (pending !== undefined) this.#questions.splice(-1, 1, { ...pending, isOver: true, answer });
  }

  /** Keeps an answer for the next process, because the one that asked is gone. */
  keep(question: PastQuestion): void {
    this.#questions.push(question);
  }

  /** Takes the earlier answer to the same question. */
  take(request: OpenRequest): PastQuestion | undefined {
    const key = keyOf(request);
    const place = this.#questions.findIndex((one) => one.isOver && keyOf(one.request) === key);
    return place < 0 ? undefined : this.#questions.splice(place, 1)[0];
  }

  #add(event: InternalEvent): void {
    if (event.kind === "internal:ask") {
      const [request] = (event as unknown as AskEvent).requests;
      if (request !== undefined) {
        this.#questions.push({ request, isOver: false, answer: undefined });
      }
    } else if (isMessageReceived(event)) this.settle(event.message);
    else if (event.kind === ENGINE_EVENTS.expired) this.settle(undefined);
  }
}

/** A decision is bound to the digest of what was shown, and an answer to the words of its question. */
function keyOf(request: OpenRequest): string {
  if (request.kind === "approval") return `approval ${request.approval.digest}`;
  return request.kind === "input" ? `input ${request.prompt}` : request.requestId;
}
