import type { HttpClient } from "@convoke/egress/http";
import { ClientError, type FilePart } from "@convoke/protocol";

export interface ReadFileOptions {
  readonly signal?: AbortSignal | undefined;
  /** Larger files are rejected. Default 256 MiB: the whole file is in memory. */
  readonly maxBytes?: number | undefined;
}

const MAX_BYTES = 256 * 1024 * 1024;

/** Reads the content of a file part: its bytes, or what is at its address. */
export async function readFile(
  { file }: FilePart,
  client: HttpClient | undefined,
  { signal, maxBytes = MAX_BYTES }: ReadFileOptions,
): Promise<Uint8Array> {
  const { bytes, uri } = file;
  if (bytes !== undefined) return Uint8Array.from(atob(bytes), (one) => one.charCodeAt(0));
  if (uri === undefined || client === undefined) {
    throw new ClientError("unsupported", "the part has no content that can be read from here");
  }
  // A link is its own permission, so no credentials are sent with it.
  const answer = await client.request({ url: uri, signal });
  const content = await joined(answer.body, maxBytes);
  const { host } = new URL(uri);
  if (answer.status !== 200) {
    const hint = answer.status === 401 ? ": the link has expired, get the task again" : "";
    throw new ClientError("unreadable", `${host} answered ${answer.status} for the file${hint}`);
  }
  await checkDigest(content, uri);
  return content;
}

async function joined(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.byteLength;
    if (size > maxBytes) {
      throw new ClientError("unreadable", `the file is larger than ${maxBytes} bytes (maxBytes)`);
    }
    pieces.push(piece);
  }
  const content = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    content.set(piece, at);
    at += piece.byteLength;
  }
  return content;
}

/** Links of Convoke servers end with the SHA-256 of the file. */
const DIGEST = /\/convoke\/files\/[^/]+\/([0-9a-f]{64})$/;

/** Pages without HTTPS have no `subtle`, and cannot check anything. */
async function checkDigest(content: Uint8Array<ArrayBuffer>, uri: string): Promise<void> {
  const expected = DIGEST.exec(new URL(uri).pathname)?.[1];
  const subtle = globalThis.crypto.subtle as SubtleCrypto | undefined;
  if (expected === undefined || subtle === undefined) return;
  const digest = new Uint8Array(await subtle.digest("SHA-256", content));
  const found = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  if (found === expected) return;
  throw new ClientError("unreadable", "the file is damaged: it does not have its digest");
}
