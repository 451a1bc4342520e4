import { createHmac, timingSafeEqual } from "node:crypto";
import type { BlobAddress } from "../log/blob-store.ts";

/** Where files are served, below the address of a server. */
export const FILES_PATH = "/convoke/files";

/** What the link to a file says about it. */
export interface LinkedFile extends BlobAddress {
  readonly name?: string | undefined;
  readonly mediaType?: string | undefined;
}

/**
 * Creates and checks links to stored files. A link is valid for some time, for one file, and for
 * everyone who has it, so it must be kept as secret as the file.
 */
export class FileLinks {
  readonly #key: Uint8Array;
  readonly #lifetimeMs: number;
  readonly #now: () => number;

  /** @param key the secret that signs links: the same in all processes, and after a restart */
  constructor(key: Uint8Array, lifetimeMs: number, now: () => number = Date.now) {
    this.#key = key;
    this.#lifetimeMs = lifetimeMs;
    this.#now = now;
  }

  /** The path and the query of a link. */
  create(file: LinkedFile): string {
    const { taskId, digest, name, mediaType } = file;
    const expires = Math.ceil((this.#now() + this.#lifetimeMs) / 1000);
    const query = new URLSearchParams({
      ...(name !== undefined && { name }),
      ...(mediaType !== undefined && { type: mediaType }),
      expires: String(expires),
      signature: this.#sign(file, expires).toString("base64url"),
    });
    return `${FILES_PATH}/${encodeURIComponent(taskId)}/${digest}?${query.toString()}`;
  }

  /** Returns what a link says, or `undefined` if it has expired or was not created here. */
  check(address: BlobAddress, query: URLSearchParams): LinkedFile | undefined {
    const expires = Number(query.get("expires"));
    const name = query.get("name") ?? undefined;
    const mediaType = query.get("type") ?? undefined;
    const file = { ...address, name, mediaType };
    const given = Buffer.from(query.get("signature") ?? "", "base64url");
    const expected = this.#sign(file, expires);
    const isOwn = given.byteLength === expected.byteLength && timingSafeEqual(given, expected);
    return isOwn && expires * 1000 > this.#now() ? file : undefined;
  }

  #sign({ taskId, digest, name, mediaType }: LinkedFile, expires: number): Buffer {
    const signed = JSON.stringify([taskId, digest, name ?? null, mediaType ?? null, expires]);
    return createHmac("sha256", this.#key).update(signed).digest();
  }
}
