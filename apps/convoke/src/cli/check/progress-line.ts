import type { CommandIo } from "../command.ts";
import { oneLine } from "@convoke/protocol/internal";
import type { CheckProgress } from "@convoke/check";

/** One line on stderr that says what is being tried, and is gone at the end. Only for terminals. */
export class ProgressLine {
  readonly #io: CommandIo;

  constructor(io: CommandIo) {
    this.#io = io;
  }

  show({ done, total, place, id }: CheckProgress): void {
    if (!this.#io.isTTY.stderr) return;
    this.#io.stderr(`${CLEAR}${done + 1}/${total}  ${oneLine(place, 30)}  ${id}`);
  }

  clear(): void {
    if (this.#io.isTTY.stderr) this.#io.stderr(CLEAR);
  }
}

const CLEAR = "\r\u001B[2K";
