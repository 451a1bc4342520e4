import type {
  AgentEvent,
  ArtifactUpdateEvent,
  FileContent,
  FilePart,
  StoredFile,
  TurnFiles,
} from "@convoke/protocol";
import type { Logger } from "../logging/logger.ts";
import type { BlobAddress, BlobStore, ByteRange } from "../log/blob-store.ts";
import type { FileLinks } from "./file-links.ts";
import { decodeBase64, describeBase64, hasFile, replaceFiles } from "./file-parts.ts";

/** Where the contents of large files are, and how clients get them. */
export interface FileOptions {
  /**
   * Where large files are kept. Default: next to the tasks, if the storage has a place for them. A
   * Postgres database has none: then files stay in the log unless this is set.
   */
  readonly store?: BlobStore | undefined;
  /**
   * Files with more bytes than this are kept outside of the log. Default 64 kB: the log is read and
   * copied often, and small files cost less inside than on their own. 0: all files stay in the log.
   */
  readonly storeAbove?: number | undefined;
  /**
   * How clients get stored files. `"inline"` (default): as bytes up to `inlineBytes`, because every
   * client can read them, and larger ones as links. `"links"`: all as links.
   */
  readonly show?: "inline" | "links" | undefined;
  /** The size up to which stored files are sent as bytes. Default 10 MiB, the largest request. */
  readonly inlineBytes?: number | undefined;
  /** How long a link can be used, in milliseconds. Default one hour. A client that reads the task again gets a new one. */
  readonly linkMs?: number | undefined;
}

const DEFAULTS = { storeAbove: 64 * 1024, show: "inline", inlineBytes: 10 * 1024 * 1024 } as const;

export const DEFAULT_LINK_MS = 60 * 60_000;

/** How many bytes a character of base64 stands for. */
const BYTES_PER_CHARACTER = 3 / 4;

/** What creates links, and the address of the server if there is no request to take it from. */
export interface LinkOptions {
  readonly links: FileLinks;
  readonly baseUrl?: string | undefined;
}

/** How files are shown. */
export interface FileView {
  /** The address of the server, for links. Default: the one that it was started with. */
  readonly baseUrl?: string | undefined;
  /** Never as links, whatever the size: for readers in this process. */
  readonly isLocal?: boolean;
}

/** The files of tasks: moves large ones out of events, and puts them back for those who read them. */
export class TaskFiles implements TurnFiles {
  readonly #store: BlobStore | undefined;
  readonly #options: ResolvedOptions;
  readonly #links: LinkOptions | undefined;
  readonly #logger: Logger;

  constructor(facts: {
    /** Absent if all files stay in the log. */
    readonly store: BlobStore | undefined;
    readonly options?: FileOptions | undefined;
    /** Default: no links, all files are shown as bytes. */
    readonly links?: LinkOptions | undefined;
    readonly logger: Logger;
  }) {
    this.#store = facts.store;
    this.#options = resolveOptions(facts.options);
    this.#links = facts.links;
    this.#logger = facts.logger;
  }

  /** Whether the event has a file that must be stored before it. */
  isUnstored(taskId: string, event: AgentEvent): boolean {
    if (this.#store === undefined || isTextChunk(event)) return false;
    return hasFile(
      event,
      ({ bytes = "", stored }) =>
        this.#isLarge(bytes) || (stored !== undefined && stored.taskId !== taskId),
    );
  }

  #isLarge(base64: string): boolean {
    const { storeAbove } = this.#options;
    return storeAbove > 0 && base64.length * BYTES_PER_CHARACTER > storeAbove;
  }

  /** Stores the large files of an event of a task. Resolves to the event with references to them. */
  store(taskId: string, event: AgentEvent): Promise<AgentEvent> {
    return replaceFiles(event, async (file) => {
      if (file.stored !== undefined) return this.#adopt(taskId, file, file.stored);
      const { bytes = "", ...rest } = file;
      if (!this.#isLarge(bytes)) return undefined;
      const stored = { taskId, ...describeBase64(bytes) };
      await this.#store!.put({ ...stored, mediaType: file.mimeType }, () => decodeBase64(bytes));
      return { ...rest, stored };
    });
  }

  /** Copies a file that an agent has taken from another task, because it is deleted with that task. */
  async #adopt(
    taskId: string,
    file: FileContent,
    stored: StoredFile,
  ): Promise<FileContent | undefined> {
    if (stored.taskId === taskId) return undefined;
    const own = { ...stored, taskId };
    if ((await this.#store!.size(stored)) === undefined) return this.#inlined(file);
    await this.#store!.put({ ...own, mediaType: file.mimeType }, () => this.#read(stored));
    return { ...file, stored: own };
  }

  /** Replaces references by what a client can read: bytes or links. A promise only if there are any. */
  show<Value extends object>(value: Value, view: FileView = {}): Value | Promise<Value> {
    if (!hasFile(value, isStored)) return value;
    return replaceFiles(value, (file) => this.#shown(file, view));
  }

  /** Replaces references by bytes, except those of files that are too large to be shown inline. */
  inline<Value extends object>(value: Value): Promise<Value> {
    const { inlineBytes } = this.#options;
    return replaceFiles(value, async (file) =>
      file.stored !== undefined && file.stored.size <= inlineBytes
        ? this.#inlined(file)
        : undefined,
    );
  }

  async #shown(file: FileContent, view: FileView): Promise<FileContent | undefined> {
    const { stored, ...rest } = file;
    if (stored === undefined) return undefined;
    const { show, inlineBytes } = this.#options;
    const isLinked = view.isLocal !== true && (show === "links" || stored.size > inlineBytes);
    const baseUrl = view.baseUrl ?? this.#links?.baseUrl;
    if (!isLinked || this.#links === undefined || baseUrl === undefined) return this.#inlined(file);
    const link = this.#links.links.create({ ...stored, name: file.name, mediaType: file.mimeType });
    return { ...rest, uri: baseUrl.replace(/\/$/, "") + link };
  }

  async #inlined(file: FileContent): Promise<FileContent> {
    const { stored, ...rest } = file;
    try {
      return { ...rest, bytes: (await this.#bytes(stored!)).toString("base64") };
    } catch (error) {
      if (!(error instanceof MissingFile)) throw error;
      // The rest of the task is still of use.
      this.#logger.error("a file of a task is missing", { ...stored });
      return { ...rest, bytes: "" };
    }
  }

  /** The content of a part: of one with bytes, or with a reference. */
  async bytes({ file }: FilePart): Promise<Uint8Array> {
    if (file.stored !== undefined) return this.#bytes(file.stored);
    return Buffer.from(inlineBytes(file), "base64");
  }

  async *stream({ file }: FilePart): AsyncGenerator<Uint8Array, void, undefined> {
    if (file.stored === undefined) yield* decodeBase64(inlineBytes(file));
    else yield* this.#read(file.stored);
  }

  async #bytes(stored: StoredFile): Promise<Buffer> {
    const whole = Buffer.alloc(stored.size);
    let end = 0;
    for await (const piece of this.#read(stored)) {
      end += Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).copy(whole, end);
    }
    return whole;
  }

  async *#read(stored: StoredFile): AsyncGenerator<Uint8Array, void, undefined> {
    const content = await this.#store?.get(stored);
    if (content === undefined) throw new MissingFile(stored);
    yield* content;
  }

  /** The size of a stored file; `undefined` if there is no such file. */
  async size(address: BlobAddress): Promise<number | undefined> {
    return this.#store?.size(address);
  }

  /** Opens a stored file, or a range of it; `undefined` if there is no such file. */
  async open(
    address: BlobAddress,
    range?: ByteRange,
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    return this.#store?.get(address, range);
  }

  /** Deletes the files of tasks that were deleted. */
  async deleteTasks(taskIds: readonly string[]): Promise<void> {
    for (const taskId of taskIds) await this.#store?.deleteTask(taskId);
  }

  /**
   * Deletes files that no task can name: they were stored by a process that ended before its commit,
   * or their task was deleted by one that ended before it deleted them.
   *
   * @param before files that were stored later stay, because their commit may be under way
   */
  async sweep(before: number, isTask: (taskId: string) => Promise<boolean>): Promise<void> {
    if (this.#store === undefined) return;
    for await (const { taskId, storedAt } of this.#store.tasks()) {
      if (storedAt < before && !(await isTask(taskId))) await this.#store.deleteTask(taskId);
    }
  }
}

function isStored({ stored }: FileContent): boolean {
  return stored !== undefined;
}

/** Most events are chunks of text, so they are not searched for files. */
function isTextChunk(event: AgentEvent): boolean {
  if (event.kind !== "artifact-update") return false;
  return (event as ArtifactUpdateEvent).artifact.parts.every(({ kind }) => kind === "text");
}

/** The content of a file is not where it should be. */
class MissingFile extends Error {
  constructor({ taskId, digest }: StoredFile) {
    super(`the file ${digest} of task ${taskId} is missing`);
  }
}

function inlineBytes({ bytes, uri }: FileContent): string {
  if (bytes !== undefined) return bytes;
  throw new TypeError(`the file is at ${uri}: fetch it from there`);
}

interface ResolvedOptions {
  readonly storeAbove: number;
  readonly inlineBytes: number;
  readonly show: "inline" | "links";
}

function resolveOptions(options: FileOptions = {}): ResolvedOptions {
  const { storeAbove, inlineBytes: inline, show, linkMs } = options;
  for (const [name, size] of Object.entries({ storeAbove, inlineBytes: inline })) {
    if (size === undefined || (Number.isInteger(size) && size >= 0)) continue;
    throw new RangeError(`files.${name} must be a whole number of bytes, 0 or more, not ${size}`);
  }
  if (linkMs !== undefined && !(linkMs > 0)) {
    throw new RangeError(`files.linkMs must be above 0, not ${linkMs}`);
  }
  if (show !== undefined && show !== "inline" && show !== "links") {
    throw new TypeError(`files.show must be "inline" or "links", not ${JSON.stringify(show)}`);
  }
  return {
    storeAbove: storeAbove ?? DEFAULTS.storeAbove,
    inlineBytes: inline ?? DEFAULTS.inlineBytes,
    show: show ?? DEFAULTS.show,
  };
}
