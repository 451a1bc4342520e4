import { type AgentEvent, CODECS, SseDecoder, type Task, applyEvent } from "@convoke/protocol";
import { type EventStreamSource, LogReader } from "@convoke/engine";
import { EventStream } from "../../packages/server/src/bindings/event-stream.ts";
import { KeepAlive } from "../../packages/server/src/bindings/keep-alive.ts";
import { SseFraming } from "../../packages/server/src/bindings/sse.ts";

/** One frame, as a 0.3 client decodes it. */
export interface Frame {
  readonly id: number;
  readonly event: AgentEvent;
}

/** An in-process client of a stream that can stop reading. */
export class Reader {
  readonly frames: Frame[] = [];
  readonly ended: Promise<void>;
  /** How many writes arrived after the reader had signaled that it was full. */
  writesWhileFull = 0;
  #decoder = new SseDecoder();
  #isFull = false;
  #control: { drained(): void; closed(): void };

  constructor(source: EventStreamSource, options: { readonly isFull?: boolean } = {}) {
    this.#isFull = options.isFull ?? false;
    const ended = Promise.withResolvers<void>();
    this.ended = ended.promise;
    const stream = new EventStream({
      source,
      reader: new LogReader(source),
      framing: new SseFraming({
        codec: CODECS["0.3"],
        prefix: "",
        suffix: "",
        errorText: (error) => JSON.stringify(String(error)),
      }),
      keepAlive: new KeepAlive(),
    });
    let mayWrite = true;
    this.#control = stream.open({
      write: (text) => {
        if (!mayWrite) this.writesWhileFull++;
        for (const { id, data } of this.#decoder.push(String(text))) {
          this.frames.push({ id: Number(id), event: JSON.parse(data) as AgentEvent });
        }
        mayWrite = !this.#isFull;
        return mayWrite;
      },
      end: () => ended.resolve(),
      abort: () => ended.resolve(),
    });
    this.#drain = () => {
      mayWrite = true;
      this.#control.drained();
    };
  }

  readonly #drain: () => void;

  /** Consumes what was written, which requests the next page. */
  drain(): void {
    this.#drain();
  }

  leave(): void {
    this.#control.closed();
  }

  /** The task built from the events that this reader received. */
  fold(): Task {
    const task = this.frames.reduce<Task | undefined>(
      (folded, { event }) => applyEvent(folded, event),
      undefined,
    );
    if (task === undefined) throw new Error("the reader has seen nothing");
    return task;
  }
}
