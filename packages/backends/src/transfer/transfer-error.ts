import { DataFolderError, describeCause } from "../sqlite/data-folder.ts";
import { primaryCode } from "../sqlite/storage-error.ts";

/** A backup, a restore or a move is not possible. The message is a sentence that says what to do. */
export class TransferError extends Error {
  override readonly name = "TransferError";

  /**
   * For an error of the operating system or of SQLite, such as a full disk, with the file that it is
   * about. Other errors are passed on as they are.
   */
  static explain(error: unknown, what: string): unknown {
    if (!(error instanceof Error) || error instanceof DataFolderError) return error;
    const { syscall, path, dest = path } = error as NodeJS.ErrnoException & { dest?: string };
    if (syscall === undefined && primaryCode(error) === undefined) return error;
    const where = dest === undefined ? "" : `, ${dest}`;
    return new TransferError(`${what} (${describeCause(error)}${where}).`, { cause: error });
  }
}

/** What a copy reports about itself. */
export interface CopyOptions {
  /** Called often, with how much was copied, such as `120 MB`. */
  readonly onProgress?: ((copied: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}
