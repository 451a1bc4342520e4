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

/** By A2A, in the version and binding that the card offers. */
export class A2aInvocation implements Invocation {
  readonly #order: InvocationRequest;
  readonly #card: RawCard;
  #remote: RemoteAgent | undefined;

  constructor(order: InvocationRequest, card: RawCard) {
    this.#order = order;
    this.#card = card;
  }

  /** Without waiting for the task: so its id is known, whatever happens later. */
  async submit(signal: AbortSignal): Promise<TaskProgress> {
    const remote = await this.#connect(signal);
    const message = messageOfOrder(this.#order);
    // Nothing is sent again: who calls decides about another attempt.
    const answer = await remote.send(message, { wait: false, reconnect: false, signal });
    if (answer.task !== undefined) return standingOf(answer.task);
    return { taskId: "", state: "completed", text: answer.text };
  }

  async get(taskId: string, signal: AbortSignal): Promise<TaskProgress> {
    const remote = await this.#connect(signal);
    return standingOf(await remote.get(taskId, { signal }));
  }

  /** Most tasks are short; a long one is looked at as seldom as by the other protocol. */
  waitMs(looks: number): number {
    return Math.min(FIRST_WAIT_MS * 2 ** (looks - 1), LONGEST_WAIT_MS);
  }

  close(): void {
    this.#remote?.close();
  }

  async #connect(signal: AbortSignal): Promise<RemoteAgent> {
    if (this.#remote !== undefined) return this.#remote;
    const { base, options } = this.#order;
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
      retry: false,
    });
    return this.#remote;
  }
}

/** A task that did not succeed says why in its status; what it has made by then is not the reason. */
function standingOf(task: Task): TaskProgress {
  const { id: taskId, status } = task;
  const said = status.message === undefined ? "" : textOfParts(status.message.parts);
  const text = status.state === "completed" || said === "" ? textOf(task) : said;
  return { taskId, state: status.state, text };
}

/**
 * The message of a call, with what is left of its budget. We count the calls
 * that led here; the extension, how many more the callee may make.
 */
function messageOfOrder({ message, depth, options }: InvocationRequest): Message {
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
