import {
  type AgentEvent,
  type ArtifactUpdateEvent,
  EXTENSIONS,
  type InternalEvent,
  type Message,
  type StatusUpdateEvent,
  type Task,
  type TaskState,
  type Turn,
  agentMessage,
  isFinal,
  textPart,
  userMessage,
} from "@convoke/protocol";

/** A turn and its caller. */
export interface ATurn {
  readonly turn: Turn;
  /** Sends a message from the caller to a pending wait. */
  say(text: string): void;
  /** Cancels the task: the signal fires, and no more answers will come. */
  cancel(reason: Error): void;
  /** Ends the conversation: no more answers will come. */
  hangUp(): void;
}

interface ATurnOptions {
  readonly text?: string;
  /** The caller's answers to the agent's questions, in order. */
  readonly answers?: readonly string[];
  readonly artifacts?: Task["artifacts"];
  /** The events that an earlier attempt recorded. */
  readonly journal?: readonly InternalEvent[];
  /** Default 1. */
  readonly attempt?: number;
}

/** Creates a turn of task t1 in context c1 at a fixed time. New ids are id-1, id-2, … */
export function aTurn(options: ATurnOptions = {}): ATurn {
  const { text = "hello", answers = [], artifacts, journal = [], attempt = 1 } = options;
  const abort = new AbortController();
  const inbox = new FakeInbox(answers);
  let ids = 0;
  const turn: Turn = {
    task: {
      kind: "task",
      id: "t1",
      contextId: "c1",
      status: { state: "working" },
      ...(artifacts && { artifacts }),
    },
    message: userMessage("m1", text),
    conversation: [],
    journal,
    attempt,
    caller: { owner: "ann" },
    extensions: new Set(),
    signal: abort.signal,
    inbox,
    park: async () => {
      const { value } = await inbox.next();
      if (value === undefined)
        throw abort.signal.reason ?? new Error("no answer will come any more");
      return value;
    },
    durable: async () => undefined,
    begin: async ({ start }) => {
      await start?.announce();
      return async () => undefined;
    },
    now: () => new Date("2026-01-31T12:00:00Z"),
    id: () => `id-${(ids += 1)}`,
  };
  return {
    turn,
    say: (answer) => inbox.put(answer),
    cancel: (reason) => {
      abort.abort(reason);
      inbox.close();
    },
    hangUp: () => inbox.close(),
  };
}

class FakeInbox implements AsyncIterator<Message, undefined> {
  readonly #answers: string[];
  #taker: ((result: IteratorResult<Message, undefined>) => void) | undefined;
  #isClosed = false;

  constructor(answers: readonly string[]) {
    this.#answers = [...answers];
  }

  put(answer: string): void {
    this.#answers.push(answer);
    this.#hand();
  }

  close(): void {
    this.#isClosed = true;
    this.#hand();
  }

  next(): Promise<IteratorResult<Message, undefined>> {
    return new Promise((resolve) => {
      this.#taker = resolve;
      this.#hand();
    });
  }

  #hand(): void {
    if (this.#taker === undefined) return;
    const answer = this.#answers.shift();
    if (answer !== undefined) this.#taker({ done: false, value: userMessage("answer", answer) });
    else if (this.#isClosed) this.#taker({ done: true, value: undefined });
    else return;
    this.#taker = undefined;
  }
}

/** Collects all events of a run, except the ones it records when it asks. */
export async function eventsOf(
  run: AsyncIterable<AgentEvent | readonly AgentEvent[]>,
): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const batch of run) events.push(...[batch].flat());
  return events.filter(({ kind }) => kind !== "internal:ask");
}

// The events that an agent emits in such a turn.

export function aChunk(
  text: string,
  flags: Pick<ArtifactUpdateEvent, "append" | "lastChunk">,
): ArtifactUpdateEvent {
  const artifact = { artifactId: "answer-1", parts: [textPart(text)] };
  return { kind: "artifact-update", taskId: "t1", contextId: "c1", artifact, ...flags };
}

/** A question of `ask`, with its data for programs. The n-th of a turn has the n-th new id. */
export function aQuestion(n: number, prompt: string, more: AQuestion = {}): StatusUpdateEvent {
  const { options, text = prompt, messageId = `id-${n}` } = more;
  const data = {
    kind: "input-request",
    requestId: `id-${n}:${n}`,
    prompt,
    ...(options && { options }),
    sensitive: false,
  };
  return aRequest(aStatus("input-required", messageId, text), data);
}

interface AQuestion {
  readonly options?: readonly string[];
  /** Default: the prompt. */
  readonly text?: string;
  readonly messageId?: string;
}

/** The status with a request for programs in addition to its text. */
export function aRequest(event: StatusUpdateEvent, data: object): StatusUpdateEvent {
  const { status } = event;
  const metadata = { [EXTENSIONS.clientTools.uri]: { type: "input-request" } };
  const parts = [...status.message!.parts, { kind: "data", data, metadata } as const];
  return { ...event, status: { ...status, message: { ...status.message!, parts } } };
}

export function aStatus(state: TaskState, messageId: string, text: string): StatusUpdateEvent {
  const status = { state, message: agentMessage(messageId, text) };
  return { kind: "status-update", taskId: "t1", contextId: "c1", status, final: isFinal(state) };
}
