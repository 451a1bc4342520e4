import { type PublicEvent, SseDecoder, type SseEvent, type Task } from "@convoke/protocol";
import type { Dialect } from "./dialect.ts";
import type { RpcBody } from "./rpc.ts";

/** One frame of a stream. */
export interface Frame {
  readonly id: string;
  readonly event: string;
  /** The raw data. */
  readonly text: string;
  readonly body: RpcBody;
}

/** A stream that is read in the background, so that a test can act in the middle of it. */
export class WireStream {
  readonly status: number;
  readonly headers: Headers;
  /** Every frame, once the stream has ended. */
  readonly all: Promise<readonly Frame[]>;
  readonly #leave: AbortController;
  readonly #dialect: Dialect;
  readonly #frames: Frame[] = [];
  #raw = "";
  #changed = Promise.withResolvers<void>();
  #isEnded = false;

  constructor(answer: Response, dialect: Dialect, leave: AbortController) {
    this.status = answer.status;
    this.headers = answer.headers;
    this.#dialect = dialect;
    this.#leave = leave;
    this.all = this.#read(answer);
    // A caller of `all` gets the error; a test that does not call it cuts the stream on purpose.
    this.all.catch(() => undefined);
  }

  /** Everything received, as text. */
  get raw(): string {
    return this.#raw;
  }

  /** The number of comments received. */
  get comments(): number {
    return this.#raw.split("\n").filter((line) => line.startsWith(":")).length;
  }

  /** The frames so far, as soon as the condition of the test is met. */
  async until(condition: (stream: this) => boolean): Promise<readonly Frame[]> {
    while (!condition(this)) {
      if (this.#isEnded) throw new Error(`The stream ended after ${this.#raw}`);
      await this.#changed.promise;
    }
    return [...this.#frames];
  }

  /** The frames so far, once there are that many. */
  take(count: number): Promise<readonly Frame[]> {
    return this.until(() => this.#frames.length >= count);
  }

  /** The task that the stream starts with, once there are as many frames as requested. */
  async task(frames = 1): Promise<Task> {
    const [first] = eventsOf(await this.take(frames), this.#dialect);
    if (first?.kind === "task") return first;
    throw new Error(`This is no task: ${JSON.stringify(first)}`);
  }

  /** Disconnects. */
  leave(): void {
    this.#leave.abort();
  }

  /** All events, once the stream has ended. */
  async events(): Promise<readonly PublicEvent[]> {
    return eventsOf(await this.all, this.#dialect);
  }

  async #read(answer: Response): Promise<readonly Frame[]> {
    const decoder = new SseDecoder();
    try {
      if (answer.body === null) return this.#frames;
      for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
        this.#raw += piece;
        this.#frames.push(...decoder.push(piece).map(frameOf));
        this.#wake();
      }
      return this.#frames;
    } finally {
      this.#isEnded = true;
      this.#wake();
    }
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** The events in some frames. */
export function eventsOf(frames: readonly Frame[], { codec }: Dialect): readonly PublicEvent[] {
  return frames.map(({ body }) => codec.decodeEvent(body.result));
}

function frameOf({ id, event, data }: SseEvent): Frame {
  return { id, event, text: data, body: JSON.parse(data) as RpcBody };
}
