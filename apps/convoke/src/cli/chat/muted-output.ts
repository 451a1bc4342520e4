import { Writable } from "node:stream";
import type { WriteStream } from "node:tty";

/**
 * A screen that can be switched off: while the agent speaks, what is typed
 * ahead must not appear in the middle of its words.
 */
export class MutedOutput extends Writable {
  isMuted = true;
  readonly #screen: WriteStream;
  readonly #resized = (): void => void this.emit("resize");

  constructor(screen: WriteStream) {
    super({ decodeStrings: false });
    this.#screen = screen;
    screen.on("resize", this.#resized);
  }

  /** readline wraps long lines by it. */
  get columns(): number {
    return this.#screen.columns;
  }

  override _write(chunk: string | Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (!this.isMuted) this.#screen.write(chunk);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#screen.off("resize", this.#resized);
    done(error);
  }
}
