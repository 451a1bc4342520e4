import { type InternalEvent, type Message, NOTES, isMessageReceived } from "@convoke/protocol";

/** The task that the remote agent made for a local one. */
export interface RemoteTaskNote extends InternalEvent {
  readonly kind: "internal:remote-task";
  readonly remoteTaskId: string;
  readonly remoteContextId: string;
  /** The id of its first event, where the remote agent keeps its events. */
  readonly cursor?: string;
}

/** What an earlier attempt of a turn has done, so that nothing of it is done twice. */
export class BridgeJournal {
  remote: RemoteTaskNote | undefined;
  /** How many questions of the remote agent were passed on. */
  asked = 0;
  /** The caller's last answer, if the remote agent is not known to have it. */
  undelivered: Message | undefined;
  /** Whether the last question has no answer yet. */
  isWaiting = false;

  constructor(events: readonly InternalEvent[]) {
    for (const event of events) this.#add(event);
  }

  /** Everything that an earlier attempt left open is done. */
  settle(): void {
    this.undelivered = undefined;
    this.isWaiting = false;
  }

  #add(event: InternalEvent): void {
    if (event.kind === "internal:remote-task") this.remote = event as RemoteTaskNote;
    else if (event.kind === REMOTE_QUESTION) {
      this.asked++;
      this.isWaiting = true;
    } else if (event.kind === REMOTE_ANSWER) this.undelivered = undefined;
    else if (isMessageReceived(event)) {
      this.undelivered = event.message;
      this.isWaiting = false;
    } else if (event.kind === NOTES.expired) this.isWaiting = false;
  }
}

/** A question of the remote agent was passed on. */
export const REMOTE_QUESTION = "internal:remote-question";

/** The remote agent has the caller's answer. */
export const REMOTE_ANSWER = "internal:remote-answer";

/** The engine understands it: a turn that has asked waits for its answer. */
export const ASK = "internal:ask";
