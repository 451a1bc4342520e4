/** Facts about a process that show a person which one it is. */
export type HolderFacts = Readonly<Record<string, string | number>>;

/** The data folder cannot be used. The message is one sentence for the person who set it. */
export class DataFolderError extends Error {
  override readonly name: string = "DataFolderError";
  readonly folder: string;

  constructor(folder: string, reason: string, options?: ErrorOptions) {
    super(`The data folder ${folder} ${reason}`, options);
    this.folder = folder;
  }

  /** Says which system call failed and why, in the words of the system. */
  static unusable(folder: string, cause: unknown): DataFolderError {
    return new DataFolderError(
      folder,
      `cannot be used (${causeOf(cause)}); choose another one, for example with CONVOKE_DATA.`,
      { cause },
    );
  }
}

/** Another process, or another backend in this one, holds the folder. */
export class DataFolderBusyError extends DataFolderError {
  override readonly name = "DataFolderBusyError";
  /** What the holder told about itself, when it could be read. */
  readonly holder: HolderFacts | undefined;

  constructor(folder: string, holder: HolderFacts | undefined) {
    super(folder, `is in use by ${describe(holder)}.`);
    this.holder = holder;
  }
}

function describe(holder: HolderFacts | undefined): string {
  const { pid, ...facts } = holder ?? {};
  if (pid === undefined) return "another process";
  const told = Object.entries(facts).map(([name, value]) => `${name} ${value}`);
  return told.length === 0 ? `process ${pid}` : `process ${pid} (${told.join(", ")})`;
}

/** `EACCES: permission denied`, without the system call and the path that Node appends. */
function causeOf(cause: unknown): string {
  const { code, message } =
    cause instanceof Error
      ? (cause as NodeJS.ErrnoException)
      : { code: undefined, message: String(cause) };
  if (code === "EEXIST") return "ENOTDIR: not a directory";
  return code !== undefined && message.startsWith(code) ? (message.split(",")[0] ?? code) : message;
}
