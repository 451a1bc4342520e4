import type { TaskState } from "@convoke/protocol";

/** What a script learns from a command. The overview prints this table, so it cannot be out of date. */
export const EXIT = {
  done: { code: 0, meaning: "the task completed, or the command did its work" },
  taskFailed: {
    code: 1,
    meaning:
      "the task ended failed, rejected or canceled, a check failed, or a card is not signed as it must be",
  },
  usage: { code: 2, meaning: "the command was used in a wrong way" },
  noAnswer: { code: 3, meaning: "the agent could not be reached or answered with an error" },
  waiting: { code: 4, meaning: "the agent waits for you: input or authorization is required" },
  notStarted: { code: 5, meaning: "the server could not start" },
  interrupted: { code: 130, meaning: "you stopped the command" },
} as const satisfies Record<string, { readonly code: number; readonly meaning: string }>;

/** A task that still works did not fail: whoever asked for an answer now has it. */
export function exitCodeOf(state: TaskState): number {
  switch (state) {
    case "failed":
    case "rejected":
    case "canceled":
      return EXIT.taskFailed.code;
    case "input-required":
    case "auth-required":
      return EXIT.waiting.code;
    default:
      return EXIT.done.code;
  }
}
