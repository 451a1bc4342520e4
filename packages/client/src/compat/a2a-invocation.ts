import {
  type Budget,
  EXTENSIONS,
  type Message,
  type RawCard,
  type Task,
  textOf,
  textOfParts,
  userMessage,
} from "@convoke/protocol";
import { connect } from "../agent/connect.ts";
import type { RemoteAgent } from "../agent/remote-agent.ts";
import { cardUrlFor } from "./peer.ts";
import type { Invocation, InvocationRequest, TaskProgress } from "./invocation.ts";
import { MAX_DEPTH } from "./invocation-guard.ts";

const { uri: BUDGET } = EXTENSIONS.budget;

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 3000;

/** A call in A2A, in the version and binding that the card offers. */
export class A2aInvocation implements Invocation {
  readonly #request: InvocationRequest;
  readonly #card: RawCard;
  #remote: RemoteAgent | undefined;

  constructor(order: InvocationRequest, card: RawCard) {
    this.#request = order;
    this.#card = card;
  }

  /** Does not wait for the task, so that its id is known whatever happens later. */
  async submit(signal: AbortSignal): Promise<TaskProgress> {
    const remote = await this.#connect(signal);
    const message = createMessage(this.#request);
    // Nothing is resent: the caller decides about another attempt.
    const answer = await remote.send(message, { wait: false, reconnect: false, signal });
    if (answer.task !== undefined) return toProgress(answer.task);
    return { taskId: "", state: "completed", text: answer.text };
  }

  async get(taskId: string, signal: AbortSignal): Promise<TaskProgress> {
    const remote = await this.#connect(signal);
    return toProgress(await remote.get(taskId, { signal }));
  }

  /** Most tasks are short; a long one is polled as rarely as in the polling protocol. */
  waitMs(looks: number): number {
    return Math.min(FIRST_WAIT_MS * 2 ** (looks - 1), LONGEST_WAIT_MS);
  }

  close(): void {
    this.#remote?.close();
  }

  async #connect(signal: AbortSignal): Promise<RemoteAgent> {
    if (this.#remote !== undefined) return this.#remote;
    const { base, options } = this.#request;
    const { token, auth, allow, trusted, signatures, trustedKeys, jkuOrigins } = options;
    this.#remote = await connect(this.#card, {
      token,
      auth,
      allow,
      trusted,
      signatures,
      trustedKeys,
      jkuOrigins,
      signal,
      cardUrl: cardUrlFor(base),
      // Agents that know the extension then limit how far they hand the work on.
      extensions: [BUDGET],
      retry: false,
    });
    return this.#remote;
  }
}

/** The text of a task that did not succeed is in its status; its artifacts are not the reason. */
function toProgress(task: Task): TaskProgress {
  const { id: taskId, status } = task;
  const said = status.message === undefined ? "" : textOfParts(status.message.parts);
  const text = status.state === "completed" || said === "" ? textOf(task) : said;
  return { taskId, state: status.state, text };
}

/**
 * The message of a call, with the remaining budget. The options count the calls that led here; the
 * extension counts how many more the callee may make.
 */
function createMessage({ message, depth, options }: InvocationRequest): Message {
  const { skill, sourceAgent, maxDepth = MAX_DEPTH } = options;
  const budget: Budget = {
    depth: maxDepth - depth,
    ...(sourceAgent !== undefined && { visited: [sourceAgent] }),
  };
  return {
    ...userMessage(crypto.randomUUID(), message),
    extensions: [BUDGET],
    metadata: { [BUDGET]: budget, ...(skill !== undefined && { skill }) },
  };
}
