import type { DatabaseSync } from "node:sqlite";
import { ContextWriter } from "./context-writer.ts";
import { MessageWriter } from "./message-writer.ts";
import { PushWriter } from "./push-writer.ts";
import { RetentionWriter } from "./retention-writer.ts";
import { StepWriter } from "./step-writer.ts";
import { TaskCounts } from "./task-counts.ts";
import type {
  OtherWrite,
  SentWrite,
  WriteAnswer,
  WriteResults,
  WriterSettings,
} from "./thread-messages.ts";

/** Hands each write of a batch to who knows how. Lives in the writer thread, inside a transaction. */
export class BatchWriter {
  readonly #steps: StepWriter;
  readonly #messages: MessageWriter;
  readonly #contexts: ContextWriter;
  readonly #pushes: PushWriter;
  readonly #retention: RetentionWriter;
  readonly #counts: TaskCounts;

  constructor(
    db: DatabaseSync,
    { terminal, followers }: Pick<WriterSettings, "terminal" | "followers">,
  ) {
    const messages = (this.#messages = new MessageWriter(db));
    const contexts = (this.#contexts = new ContextWriter(db));
    const pushes = (this.#pushes = new PushWriter(db));
    const counts = (this.#counts = new TaskCounts(db));
    const parts = { messages, contexts, pushes, counts };
    const steps = (this.#steps = new StepWriter(db, { terminal, followers, ...parts }));
    this.#retention = new RetentionWriter(db, { steps, ...parts });
  }

  write(write: SentWrite): WriteAnswer {
    if (write.kind === undefined) return this.#steps.write(write);
    return { kind: "answered", value: this.#other(write) };
  }

  /** Writes what was put off until the end of the batch. */
  flush(): void {
    this.#steps.flush();
    this.#counts.flush();
  }

  /** Drops what was learnt from a transaction that did not happen. */
  forget(): void {
    this.#steps.forget();
    this.#counts.forget();
  }

  #other(write: OtherWrite): WriteResults[keyof WriteResults] {
    switch (write.kind) {
      case "put-push":
        return this.#pushes.put(write.taskId, write.push);
      case "progress-push":
        return this.#pushes.progress(write.progress);
      case "delete-push":
        return this.#pushes.delete(write.taskId, write.id);
      case "prune":
        return this.#retention.prune(write.query);
      case "compact":
        return this.#retention.compact(write.taskId, write.snapshot);
      case "forget-messages":
        return this.#messages.forget(write.acceptedBefore, write.limit);
      case "forget-contexts":
        return this.#contexts.forget(write.endedBefore, write.limit);
      default:
        return write satisfies never;
    }
  }
}
