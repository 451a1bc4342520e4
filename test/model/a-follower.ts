import assert from "node:assert/strict";
import {
  A2AError,
  type AgentEvent,
  type Caller,
  type StatusUpdateEvent,
  type Task,
  isPublic,
  isTerminal,
} from "@convoke/protocol";
import { type Engine, type EventStreamSource, subscribeToTask } from "@convoke/engine";
import { type Frame, Reader } from "../engine/a-reader.ts";
import { foldOf } from "./fold.ts";

export interface FollowerOptions {
  readonly taskId: string;
  readonly caller: Caller;
  readonly version: "0.3" | "1.0";
  /** It starts after this sequence, or with a snapshot. */
  readonly after: number | undefined;
}

/** A client that follows a task, and reconnects with its cursor when the server was replaced. */
export class Follower {
  readonly taskId: string;
  hasLeft = false;
  readonly #options: FollowerOptions;
  /** What it received from earlier servers. */
  readonly #earlier: Frame[] = [];
  #reader: Reader | undefined;
  /** The head of the log when it last connected: earlier questions were already answered. */
  #head = 0;
  #hasEnded = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.taskId = options.taskId;
  }

  /** Subscribes, or reconnects. */
  async attach(engine: Engine): Promise<void> {
    if (this.hasLeft || this.#hasEnded) return;
    const { taskId, caller, version, after } = this.#options;
    const cursor = this.#earlier.at(-1)?.id ?? after;
    const lastEventId = cursor === undefined ? undefined : String(cursor);
    try {
      const call = {
        engine,
        agent: engine.agents.first,
        caller,
        version,
        trace: undefined,
        lastEventId,
      };
      const source = await subscribeToTask({ taskId }, call);
      if (this.hasLeft) return;
      this.#head = headOf(source);
      this.#reader = new Reader(source);
      void this.#reader.ended.then(() => {
        this.#hasEnded = true;
      });
    } catch (error) {
      // 1.0: an ended task cannot be subscribed to. With a cursor it can.
      assert.ok(A2AError.is(error) && error.reason === "UnsupportedOperation", String(error));
      assert.equal(cursor, undefined);
      this.hasLeft = true;
    }
  }

  /** The server is gone. */
  cut(): void {
    this.#reader?.leave();
    this.#earlier.push(...(this.#reader?.frames ?? []));
    this.#reader = undefined;
  }

  leave(): void {
    this.hasLeft = true;
    this.#reader?.leave();
  }

  /** It received exactly the log after its cursor: all of it, unless it left. */
  check(log: readonly AgentEvent[]): void {
    const frames = [...this.#earlier, ...(this.#reader?.frames ?? [])];
    const opening = this.#options.after === undefined ? frames[0] : undefined;
    if (opening !== undefined) {
      assert.equal(opening.event.kind, "task");
      assert.deepEqual(opening.event, foldOf(log.slice(0, opening.id)));
    }
    const after = opening?.id ?? this.#options.after ?? 0;
    const expected = this.#expected(log, after, opening?.event as Task | undefined);
    const got = opening === undefined ? frames : frames.slice(1);
    if (this.hasLeft || (this.#options.after === undefined && opening === undefined)) {
      assert.deepEqual(got, expected.frames.slice(0, got.length));
      return;
    }
    assert.deepEqual(
      got.map(({ id }) => id),
      expected.frames.map(({ id }) => id),
    );
    assert.deepEqual(got, expected.frames);
    assert.equal(this.#hasEnded, expected.isEnd, "whether the stream has ended");
  }

  #expected(
    log: readonly AgentEvent[],
    after: number,
    opening: Task | undefined,
  ): { readonly frames: readonly Frame[]; readonly isEnd: boolean } {
    if (opening !== undefined && isTerminal(opening.status.state))
      return { frames: [], isEnd: true };
    const frames = log
      .map((event, place) => ({ id: place + 1, event }))
      .filter(({ id, event }) => id > after && isPublic(event));
    const end = frames.findIndex(({ id, event }) => id >= this.#head && this.#isEnd(event));
    if (end !== -1) return { frames: frames.slice(0, end + 1), isEnd: true };
    // A reader that has already seen everything receives the end without events.
    return { frames, isEnd: isTerminal(foldOf(log).status.state) };
  }

  #isEnd(event: AgentEvent): boolean {
    if (event.kind !== "status-update") return false;
    const { final, status } = event as StatusUpdateEvent;
    return this.#options.version === "0.3" ? final : isTerminal(status.state);
  }
}

/**
 * The head at which a source was created: the first position at which a final event would end it.
 */
function headOf({ closesAfter }: EventStreamSource): number {
  const status = { state: "completed" } as const;
  const lastWord = {
    kind: "status-update",
    taskId: "",
    contextId: "",
    status,
    final: true,
  } as const;
  let head = 0;
  while (!closesAfter(lastWord, head)) head++;
  return head;
}
