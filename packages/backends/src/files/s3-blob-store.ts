import { hash } from "node:crypto";
import {
  type NewBlob,
  type BlobAddress,
  type BlobContent,
  type BlobStore,
  BlobStoreError,
  type ByteRange,
  type TaskBlobs,
  checkedContent,
} from "@convoke/engine";
import { type Egress, createEgress } from "@convoke/egress";
import { type HttpAnswer, readText } from "@convoke/egress/http";
import { belowName, blobName, taskName, taskOfName } from "./blob-names.ts";
import { type S3Credentials, type S3Request, encodeExactly, signRequest } from "./sign-request.ts";

export interface S3BlobStoreOptions extends S3Credentials {
  readonly bucket: string;
  /** Default `us-east-1`, which most other object stores expect, too. */
  readonly region?: string | undefined;
  /** The address of the object store, such as `https://minio.internal:9000`. Default: that of AWS for the region. */
  readonly endpoint?: string | undefined;
  /**
   * Begins the names of all objects, such as `convoke/`. Each storage of tasks needs a bucket or a
   * prefix of its own: objects of unknown tasks are deleted. Default none.
   */
  readonly prefix?: string | undefined;
  /**
   * Whether the bucket is in the path of a URL instead of its host name. Default: if `endpoint` is
   * set, because few other object stores have a host name for each bucket.
   */
  readonly pathStyle?: boolean | undefined;
  /** Larger files are sent in parts of this size. Default 8 MiB; AWS accepts no smaller ones than 5 MiB. */
  readonly partBytes?: number | undefined;
}

/**
 * Keeps contents in an object store that speaks the protocol of Amazon S3.
 *
 * @example
 * const store = createS3BlobStore({
 *   bucket: "files",
 *   endpoint: "https://minio.internal:9000",
 *   accessKeyId: "…",
 *   secretAccessKey: "…",
 * });
 */
export function createS3BlobStore(options: S3BlobStoreOptions): BlobStore {
  return new S3BlobStore(options);
}

const PART_BYTES = 8 * 1024 * 1024;

/** How long to wait for the beginning of an answer. */
const ANSWER_MS = 60_000;

/** The most characters of a list or an error that are read. */
const MAX_TEXT = 8 * 1024 * 1024;

/** A call of the object store, relative to the bucket. */
interface ObjectCall extends Pick<S3Request, "method" | "headers"> {
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
  /** Statuses that are no error, in addition to 200, 204 and 206. */
  readonly also?: readonly number[];
}

class S3BlobStore implements BlobStore {
  readonly #options: S3BlobStoreOptions;
  readonly #credentials: S3Credentials & { readonly region: string };
  readonly #bucketUrl: string;
  readonly #prefix: string;
  readonly #partBytes: number;
  readonly #egress: Egress;

  constructor(options: S3BlobStoreOptions) {
    const { bucket, region = "us-east-1", endpoint, prefix = "", accessKeyId } = options;
    const { partBytes = PART_BYTES, pathStyle = endpoint !== undefined } = options;
    const { secretAccessKey, sessionToken } = options;
    if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket)) {
      throw new TypeError(`bucket must be the name of a bucket, not ${JSON.stringify(bucket)}`);
    }
    const base = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
    if (!pathStyle && /^[\d.]+$|:/.test(base.hostname)) {
      throw new TypeError("endpoint must have a host name if pathStyle is false");
    }
    if (!pathStyle) base.hostname = `${bucket}.${base.hostname}`;
    this.#bucketUrl = base.href.replace(/\/$/, "") + (pathStyle ? `/${bucket}` : "");
    this.#options = options;
    this.#credentials = { accessKeyId, secretAccessKey, sessionToken, region };
    this.#prefix = prefix;
    this.#partBytes = partBytes;
    // The operator has named the address, so it may be a private one.
    this.#egress = createEgress({ trusted: [this.#bucketUrl] });
  }

  async put(blob: NewBlob, content: BlobContent): Promise<void> {
    const { size, digest, mediaType } = blob;
    if ((await this.size(blob)) === size) return;
    const key = this.#keyOf(blob);
    const headers = mediaType === undefined ? {} : { "content-type": asHeader(mediaType) };
    const checked = checkedContent(blob, content);
    if (size > this.#partBytes) return this.#putParts(key, headers, checked);
    const body = await joined(checked);
    await this.#send({ method: "PUT", key, headers, body }, digest);
  }

  /** Nothing is visible before all parts are there. */
  async #putParts(
    key: string,
    headers: Readonly<Record<string, string>>,
    content: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    const begun = await this.#text({ method: "POST", key, headers, query: { uploads: "" } });
    const uploadId = tagIn(begun, "UploadId");
    if (uploadId === undefined) throw new BlobStoreError("the object store began no upload");
    try {
      const tags: string[] = [];
      for await (const body of inParts(content, this.#partBytes)) {
        const query = { partNumber: String(tags.length + 1), uploadId };
        const answer = await this.#send({ method: "PUT", key, query, body });
        tags.push(answer.headers["etag"] ?? "");
      }
      const parts = tags.map(
        (tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag}</ETag></Part>`,
      );
      const body = Buffer.from(
        `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`,
      );
      const ended = await this.#text({ method: "POST", key, query: { uploadId }, body });
      // The status is sent before the parts are joined, so an error may follow it.
      if (ended.includes("<Error>")) throw failedWith(200, ended);
    } catch (error) {
      await this.#send({ method: "DELETE", key, query: { uploadId } }).catch(() => undefined);
      throw error;
    }
  }

  async get(
    address: BlobAddress,
    range?: ByteRange,
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    const key = this.#keyOf(address);
    const headers = range && { range: `bytes=${range.first}-${range.last}` };
    const answer = await this.#request({ method: "GET", key, headers, also: [404] });
    if (answer.status !== 404) return answer.body;
    await drop(answer);
    return undefined;
  }

  async size(address: BlobAddress): Promise<number | undefined> {
    const answer = await this.#send({ method: "HEAD", key: this.#keyOf(address), also: [404] });
    return answer.status === 404 ? undefined : Number(answer.headers["content-length"]);
  }

  async deleteTask(taskId: string): Promise<void> {
    for await (const { key } of this.#objects(`${this.#prefix}${taskName(taskId)}/`)) {
      await this.#send({ method: "DELETE", key, also: [404] });
    }
  }

  async *tasks(): AsyncGenerator<TaskBlobs, void, undefined> {
    let last: { readonly taskId: string; storedAt: number } | undefined;
    // Names are listed in order, so those of a task come together.
    for await (const { key, storedAt } of this.#objects(this.#prefix)) {
      const [name = "", digest] = key.slice(this.#prefix.length).split("/");
      const taskId = taskOfName(name);
      if (taskId === undefined || digest === undefined) continue;
      if (last?.taskId !== taskId) {
        if (last !== undefined) yield last;
        last = { taskId, storedAt };
      } else last.storedAt = Math.max(last.storedAt, storedAt);
    }
    if (last !== undefined) yield last;
  }

  below(name: string): BlobStore {
    const prefix = `${this.#prefix}${belowName(name)}/`;
    return new S3BlobStore({ ...this.#options, prefix });
  }

  async *#objects(
    prefix: string,
  ): AsyncGenerator<{ readonly key: string; readonly storedAt: number }> {
    for (let token: string | undefined; ;) {
      const more = token === undefined ? {} : { "continuation-token": token };
      const query = { "list-type": "2", prefix, ...more };
      const page = await this.#text({ method: "GET", query });
      for (const [, object = ""] of page.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
        const storedAt = Date.parse(tagIn(object, "LastModified") ?? "");
        yield { key: tagIn(object, "Key") ?? "", storedAt };
      }
      token = tagIn(page, "NextContinuationToken");
      if (token === undefined) return;
    }
  }

  #keyOf({ taskId, digest }: BlobAddress): string {
    return `${this.#prefix}${taskName(taskId)}/${blobName(digest)}`;
  }

  async #text(call: ObjectCall): Promise<string> {
    return readText(await this.#request(call), undefined, MAX_TEXT);
  }

  /** Sends a request whose answer has no content of interest. */
  async #send(call: ObjectCall, bodyDigest?: string): Promise<HttpAnswer> {
    const answer = await this.#request(call, bodyDigest);
    await drop(answer);
    return answer;
  }

  async #request(call: ObjectCall, bodyDigest?: string): Promise<HttpAnswer> {
    const { method, key = "", query = {}, body, also = [] } = call;
    const url = new URL(`${this.#bucketUrl}/${key.split("/").map(encodeExactly).join("/")}`);
    url.search = Object.entries(query)
      .map(([name, value]) => `${name}=${encodeExactly(value)}`)
      .join("&");
    const digest = bodyDigest ?? hash("sha256", body ?? "", "hex");
    const signed = { method, url, headers: call.headers, bodyDigest: digest };
    const headers = signRequest(signed, this.#credentials, new Date());
    const answer = await this.#answer({ method, url: url.href, headers, ...(body && { body }) });
    if ([200, 204, 206, ...also].includes(answer.status)) return answer;
    throw failedWith(answer.status, await readText(answer, undefined, MAX_TEXT).catch(() => ""));
  }

  /** The beginning of an answer must come in time; a large content may take as long as its reader. */
  async #answer(call: Parameters<Egress["request"]>[0]): Promise<HttpAnswer> {
    const waiting = new AbortController();
    const timer = setTimeout(
      () => waiting.abort(new BlobStoreError("the object store does not answer")),
      ANSWER_MS,
    );
    try {
      return await this.#egress.request({ ...call, redirects: "answer", signal: waiting.signal });
    } catch (cause) {
      if (cause instanceof BlobStoreError) throw cause;
      const { message } = cause as Error;
      throw new BlobStoreError(`the object store cannot be reached: ${message}`, { cause });
    } finally {
      clearTimeout(timer);
    }
  }
}

function failedWith(status: number, text: string): BlobStoreError {
  const code = tagIn(text, "Code") ?? "";
  return new BlobStoreError(`the object store answered ${status} ${code}`.trim());
}

/** Reads an answer to its end, so that its connection can be used again. */
async function drop(answer: HttpAnswer): Promise<void> {
  await readText(answer, undefined, MAX_TEXT).catch(() => undefined);
}

async function joined(content: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Joins small pieces and splits large ones. */
async function* inParts(
  content: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  let rest = Buffer.alloc(0);
  for await (const piece of content) {
    rest = Buffer.concat([rest, piece]);
    for (; rest.length >= size; rest = rest.subarray(size)) yield rest.subarray(0, size);
  }
  if (rest.length > 0) yield rest;
}

/** Header values are ASCII; anything else is left out of a media type. */
function asHeader(value: string): string {
  return value.replaceAll(/[^\x20-\x7e]/g, "");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
  "&amp;": "&",
};

/** The text of the first element with a name, in XML without attributes. */
function tagIn(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text?.replaceAll(/&(?:lt|gt|quot|apos|amp);/g, (entity) => ENTITIES[entity]!);
}
