import { A2AError, type Caller } from "@convoke/protocol";
import { type ByteRange, FILES_PATH, type LinkedFile, findTaskRecord } from "@convoke/engine";
import {
  type ByteSink,
  type ByteStream,
  type ByteStreamControl,
  type HttpHeaders,
  type HttpRequest,
  type HttpResponse,
  header,
} from "../../http/exchange.ts";
import { admit } from "../admin/admit.ts";
import type { AdminRoute } from "../admin/handle.ts";
import type { App } from "../app.ts";

const FILE_PATH = new RegExp(`^${FILES_PATH}/(?<task>[^/]+)/(?<digest>[^/]+)$`);

/** The file that a path names; `undefined` for other paths. */
function parseFilePath({ path }: HttpRequest): LinkedFile | undefined {
  const { task, digest } = FILE_PATH.exec(path)?.groups ?? {};
  if (task === undefined || digest === undefined) return undefined;
  try {
    return { taskId: decodeURIComponent(task), digest };
  } catch {
    return undefined;
  }
}

/** The file of a valid link, for everyone who has the link; `undefined` for other requests. */
export function linkedFile({ fileLinks }: App, request: HttpRequest): LinkedFile | undefined {
  const address = parseFilePath(request);
  if (address === undefined || !request.query.has("signature")) return undefined;
  return fileLinks?.check(address, request.query);
}

/** Finds the operation of a path; `undefined` for other paths. */
export function matchFile(request: HttpRequest): AdminRoute | undefined {
  const file = parseFilePath(request);
  if (file === undefined) return undefined;
  return {
    name: "readFile",
    method: "GET",
    methods: ["GET", "HEAD"],
    handle: (app, _, caller) => handleFile(app, file, { request, caller }),
  };
}

/** Sends a file of a task to its owner, or to an operator, without a link. */
async function handleFile(
  app: App,
  file: LinkedFile,
  facts: { readonly request: HttpRequest; readonly caller: Caller },
): Promise<HttpResponse> {
  const { taskId } = file;
  const admitted = await admit(app, "getTask", { ...facts, params: { taskId } });
  await findTaskRecord(taskId, { engine: app.engine, ...admitted });
  return sendFile(app, file, facts.request);
}

/** Sends a file, or the part of it that the request asks for. */
export async function sendFile(
  { engine, logger }: App,
  file: LinkedFile,
  request: HttpRequest,
): Promise<HttpResponse> {
  const isDigest = /^[0-9a-f]{64}$/.test(file.digest);
  const size = isDigest ? await engine.files.size(file) : undefined;
  if (size === undefined) throw missing();
  const etag = `"${file.digest}"`;
  const headers = { ...fileHeaders(file), etag };
  if (hasTag(header(request, "if-none-match"), etag)) return { status: 304, headers, body: "" };
  const ifRange = header(request, "if-range");
  const isRanged = ifRange === undefined || ifRange === etag;
  const range = isRanged ? parseRange(header(request, "range"), size) : undefined;
  if (range === "unsatisfiable") {
    return { status: 416, headers: { ...headers, "content-range": `bytes */${size}` }, body: "" };
  }
  const { first, last } = range ?? { first: 0, last: size - 1 };
  const content = request.method === "HEAD" ? nothing() : await engine.files.open(file, range);
  if (content === undefined) throw missing();
  return {
    status: range === undefined ? 200 : 206,
    headers: {
      ...headers,
      "content-length": String(last - first + 1),
      ...(range && { "content-range": `bytes ${first}-${last}/${size}` }),
    },
    body: new ContentStream(content, (error) => {
      logger.error("a file could not be sent to its end", { requestId: request.id, error });
    }),
  };
}

function missing(): A2AError {
  return new A2AError("TaskNotFound", "there is no such file");
}

async function* nothing(): AsyncGenerator<Uint8Array, void, undefined> {}

/**
 * What agents and callers store is not trusted: browsers save it and never show it, guess no type, and
 * would run nothing of it even if they showed it.
 */
function fileHeaders({ name, mediaType = "" }: LinkedFile): HttpHeaders {
  const isType = /^[\w.+-]+\/[\w.+-]+(?:; ?charset=[\w-]+)?$/.test(mediaType);
  return {
    "content-type": isType ? mediaType : "application/octet-stream",
    "content-disposition": disposition(name),
    "content-security-policy": "default-src 'none'; sandbox",
    "accept-ranges": "bytes",
  };
}

/** RFC 6266: the plain name for old clients, the exact one for all others. */
function disposition(name: string | undefined): string {
  if (name === undefined || name === "") return "attachment";
  const plain = name.replaceAll(/[^\w. -]/g, "_");
  const exact = encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16)}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`;
}

function hasTag(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = ifNoneMatch?.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags?.some((tag) => tag === etag || tag === "*") === true;
}

/** The range of a request (RFC 9110 §14.2). What it does not understand, or several ranges, is the whole file. */
function parseRange(
  value: string | undefined,
  size: number,
): ByteRange | "unsatisfiable" | undefined {
  const [, from, to] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(value?.replaceAll(" ", "") ?? "") ?? [];
  if (from === undefined || to === undefined || (from === "" && to === "")) return undefined;
  const first = from === "" ? Math.max(0, size - Number(to)) : Number(from);
  const last = from === "" || to === "" ? size - 1 : Math.min(Number(to), size - 1);
  if (from !== "" && to !== "" && Number(to) < first) return undefined;
  return first < size && first <= last ? { first, last } : "unsatisfiable";
}

/** Sends a content as fast as the client reads it. At most one piece of it is in memory. */
class ContentStream implements ByteStream {
  readonly #content: AsyncIterator<Uint8Array>;
  readonly #onError: (error: unknown) => void;
  #isEnded = false;
  #isPumping = false;
  #isBlocked = false;

  /** @param onError called if the content cannot be read to its end; the client is disconnected then */
  constructor(content: AsyncIterable<Uint8Array>, onError: (error: unknown) => void) {
    this.#content = content[Symbol.asyncIterator]();
    this.#onError = onError;
  }

  open(sink: ByteSink): ByteStreamControl {
    void this.#pump(sink);
    return {
      drained: () => {
        this.#isBlocked = false;
        void this.#pump(sink);
      },
      closed: () => this.abandon(),
    };
  }

  abandon(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#content.return?.()?.catch(this.#onError);
  }

  async #pump(sink: ByteSink): Promise<void> {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      while (!this.#isEnded && !this.#isBlocked) {
        const { done, value } = await this.#content.next();
        if (this.#isEnded) return;
        if (done === true) {
          this.#isEnded = true;
          sink.end();
        } else this.#isBlocked = !sink.write(value);
      }
    } catch (error) {
      this.#isEnded = true;
      this.#onError(error);
      sink.abort();
    } finally {
      this.#isPumping = false;
    }
  }
}
