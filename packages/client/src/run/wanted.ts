import type { SendMessageRequest, Task } from "@convoke/protocol";

/** What is wanted of the agent. */
export type Wanted =
  /** An answer to a message, as it comes. */
  | { readonly kind: "stream"; readonly request: SendMessageRequest }
  /** An answer to a message, at once or, when the request is blocking, when it is whole. */
  | { readonly kind: "call"; readonly request: SendMessageRequest }
  /** The events of a task, over questions and answers, from the beginning or after an event. */
  | {
      readonly kind: "subscribe";
      readonly taskId: string;
      readonly lastEventId?: string | undefined;
    };

/** What is done next to get it. */
export type Step = "send" | "call" | "subscribe" | "poll" | "over";

/** What an error leads to. */
export interface Recovered {
  readonly next: Step;
  /** The task as the agent has it, when it was asked. */
  readonly task?: Task;
}
