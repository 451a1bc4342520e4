import type { Caller } from "@convoke/protocol";
import type { Logger } from "@convoke/engine";
import { timingSafeEqual } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { header } from "../http/exchange.ts";
import {
  type AuthRequest,
  type Authenticator,
  bearerToken,
  sha256,
  unauthenticated,
} from "./authenticator.ts";
import {
  type ApiKeyRecord,
  KEY_FILE,
  checkRecord,
  keyId,
  keyState,
  readKeyFile,
} from "./key-file.ts";
import { SharedKeyStore } from "./key-store.ts";

export interface ApiKeysOptions {
  /**
   * The file with the keys, which `convoke keys` changes. A change takes effect within a second,
   * without a restart. Default: the database that servers share, if there is one; otherwise
   * `api-keys.json` in the data folder.
   */
  readonly file?: string;
  /** The records of the keys, instead of a file. */
  readonly keys?: readonly ApiKeyRecord[];
}

/**
 * Accepts API keys, as `X-API-Key` and as bearer tokens. Each has an owner, optionally a tenant and
 * scopes. Only hashes are stored; `convoke keys create` shows a key once.
 *
 * @example
 * serve(agent, { auth: [apiKeys({ file: "api-keys.json" })] });
 */
export function apiKeys({ file, keys }: ApiKeysOptions = {}): Authenticator {
  if (file !== undefined && keys !== undefined) {
    throw new TypeError("apiKeys: file and keys cannot be combined");
  }
  keys?.forEach((key, index) => checkRecord(key, `apiKeys: keys[${index}]`));
  let ring: KeyRing | undefined = keys && new FixedKeys(keys);
  let stop: (() => void) | undefined;
  return {
    schemes: {
      apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
      bearer: { type: "http", scheme: "bearer" },
    },
    async prepare({ folder, values, logger }) {
      if (ring !== undefined) return;
      if (file === undefined && values !== undefined) {
        const shared = await SharedKeys.open(new SharedKeyStore(values), logger);
        ring = shared;
        stop = () => shared.close();
        return;
      }
      const path = file ?? (folder === undefined ? undefined : join(folder, KEY_FILE));
      if (path === undefined) {
        throw new TypeError(
          "apiKeys needs a file, because there is no data folder: apiKeys({ file })",
        );
      }
      ring = new KeyFile(path, logger);
    },
    authenticate: (request) => ring && identify(request, ring),
    close() {
      if (stop === undefined) return;
      stop();
      // Another server may use the authenticator, with another database.
      stop = ring = undefined;
    },
  };
}

function identify(request: AuthRequest, ring: KeyRing): Caller | undefined {
  const inHeader = header(request, "x-api-key")?.trim();
  const text = inHeader ?? bearerToken(request);
  const id = text === undefined ? undefined : keyId(text);
  if (text === undefined || id === undefined) {
    if (inHeader === undefined) return undefined;
    throw unauthenticated("the API key is not valid");
  }
  const known = ring.find(id);
  // An unknown id takes as long as a known one.
  const isRight = timingSafeEqual(sha256(text), known?.hash ?? NO_HASH);
  if (known === undefined || !isRight) throw unauthenticated("the API key is not valid");
  const state = keyState(known.record, Date.now());
  if (state !== "active") throw unauthenticated(`the API key ${known.record.name} is ${state}`);
  return known.caller;
}

const NO_HASH = Buffer.alloc(32);

interface KnownKey {
  readonly record: ApiKeyRecord;
  readonly hash: Buffer;
  readonly caller: Caller;
}

interface KeyRing {
  find(id: string): KnownKey | undefined;
}

class FixedKeys implements KeyRing {
  readonly #keys: ReadonlyMap<string, KnownKey>;

  constructor(records: readonly ApiKeyRecord[]) {
    this.#keys = new Map(records.map((record) => [record.id, toKnown(record)]));
  }

  find(id: string): KnownKey | undefined {
    return this.#keys.get(id);
  }
}

function toKnown(record: ApiKeyRecord): KnownKey {
  const { name, hash, owner, tenant, scopes = [] } = record;
  const caller = {
    owner,
    ...(tenant !== undefined && { tenant }),
    scopes,
    claims: { apiKey: name },
  };
  return { record, hash: Buffer.from(hash, "hex"), caller };
}

/** The keys that the servers of one database share. */
class SharedKeys implements KeyRing {
  readonly close: () => void;
  #keys: KeyRing;

  private constructor(
    records: readonly ApiKeyRecord[],
    follow: (apply: (records: readonly ApiKeyRecord[]) => void) => () => void,
  ) {
    this.#keys = new FixedKeys(records);
    this.close = follow((changed) => {
      this.#keys = new FixedKeys(changed);
    });
  }

  static async open(store: SharedKeyStore, logger: Logger): Promise<SharedKeys> {
    const records = await store.read();
    if (records === undefined) {
      logger.warn(
        "there are no API keys in the database yet; create one with convoke keys create --database",
      );
    }
    // While the keys cannot be read, those that were read last stay valid.
    const onError = (error: unknown): void =>
      logger.error("the API keys in the database cannot be read", { error });
    return new SharedKeys(records ?? [], (apply) => store.follow(apply, onError));
  }

  find(id: string): KnownKey | undefined {
    return this.#keys.find(id);
  }
}

/** How often a file is looked at while requests arrive. */
const CHECK_MS = 1000;

/** The keys of a file, which is read again when it has changed. */
class KeyFile implements KeyRing {
  readonly #path: string;
  readonly #logger: Logger;
  #keys: KeyRing = new FixedKeys([]);
  #version: string | undefined;
  #checkedAt = -Infinity;

  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
    this.#load();
  }

  find(id: string): KnownKey | undefined {
    if (performance.now() - this.#checkedAt >= CHECK_MS) this.#reload();
    return this.#keys.find(id);
  }

  /** A file that cannot be used any more changes nothing: the keys that it had stay valid. */
  #reload(): void {
    try {
      if (this.#version !== versionOf(this.#path)) this.#load();
      this.#checkedAt = performance.now();
    } catch (error) {
      this.#checkedAt = performance.now();
      this.#logger.error("the API keys were changed to something that cannot be read", { error });
    }
  }

  /** A file that was deleted has no keys. */
  #load(): void {
    this.#checkedAt = performance.now();
    this.#version = versionOf(this.#path);
    const records = readKeyFile(this.#path);
    if (records === undefined) {
      this.#logger.warn("there are no API keys yet; create one with convoke keys create", {
        file: this.#path,
      });
    }
    this.#keys = new FixedKeys(records ?? []);
  }
}

/** Differs whenever the file was replaced or written. */
function versionOf(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? "none" : `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
}
