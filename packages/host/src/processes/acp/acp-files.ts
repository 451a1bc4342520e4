import {
  type ReadTextFileRequest,
  type ReadTextFileResponse,
  RequestError,
  type WriteTextFileRequest,
} from "@agentclientprotocol/sdk";
import {
  Workspace,
  WorkspaceError,
  entryAt,
  readContent,
  writeContent,
} from "@convoke/coder/internal";

/** The largest file that is read for a program. */
const MAX_FILE_BYTES = 16 * 1024 ** 2;

/** The file methods of an ACP client, for files of the workspace only. */
export class AcpFiles {
  readonly #workspace: Promise<Workspace>;

  constructor(root: string) {
    this.#workspace = Workspace.open({ roots: [root] });
    // Reported by the first file.
    this.#workspace.catch(() => undefined);
  }

  read({ path, line, limit }: ReadTextFileRequest): Promise<ReadTextFileResponse> {
    return explained(async () => {
      const place = await (await this.#workspace).resolve(path);
      // Programs tell a new file from an error by this code.
      if ((await entryAt(place)).type === "missing") throw RequestError.resourceNotFound(path);
      const { bytes } = await readContent(place, MAX_FILE_BYTES);
      const text = bytes.toString("utf8");
      if (line == null && limit == null) return { content: text };
      const start = Math.max(0, (line ?? 1) - 1);
      const end = limit == null ? undefined : start + limit;
      return { content: text.split("\n").slice(start, end).join("\n") };
    });
  }

  write({ path, content }: WriteTextFileRequest): Promise<void> {
    return explained(async () => {
      const place = await (await this.#workspace).resolve(path);
      await writeContent(place, Buffer.from(content, "utf8"));
    });
  }
}

/** What is wrong with a path is for the program. */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof WorkspaceError) throw RequestError.invalidParams({}, error.message);
    throw error;
  }
}
