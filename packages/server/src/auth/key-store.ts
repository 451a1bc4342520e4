import { type OpenValues, followValue, updateValue } from "@convoke/protocol";
import { type ApiKeyRecord, parseKeys, readKeyFile, updateKeyFile } from "./key-file.ts";

/** Changes the keys; the argument is what is stored now. It may be called several times. */
type ChangeKeys = (records: readonly ApiKeyRecord[]) => readonly ApiKeyRecord[];

/** Where API keys are stored. Changes at the same time do not overwrite each other. */
export interface ApiKeyStore {
  /** `undefined` if there are no keys yet. */
  read(): Promise<readonly ApiKeyRecord[] | undefined>;
  update(change: ChangeKeys): Promise<void>;
}

/** The keys in a file. */
export class KeyFileStore implements ApiKeyStore {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async read(): Promise<readonly ApiKeyRecord[] | undefined> {
    return readKeyFile(this.#path);
  }

  async update(change: ChangeKeys): Promise<void> {
    updateKeyFile(this.#path, change);
  }
}

/** All keys are one value, so that a change sees all of them: names of active keys are unique. */
const COLLECTION = "api-keys";
const KEY = "keys";

/** The keys in a database that servers share. */
export class SharedKeyStore implements ApiKeyStore {
  readonly #values: ReturnType<OpenValues>;

  constructor(open: OpenValues) {
    this.#values = open(COLLECTION);
  }

  async read(): Promise<readonly ApiKeyRecord[] | undefined> {
    return parseStored((await this.#values.get(KEY))?.value);
  }

  async update(change: ChangeKeys): Promise<void> {
    await updateValue(this.#values, KEY, (text) =>
      JSON.stringify({ keys: change(parseStored(text) ?? []) }),
    );
  }

  /** Calls `apply` with the keys within a second after each change. Returns a function that stops it. */
  follow(
    apply: (records: readonly ApiKeyRecord[]) => void,
    onError: (error: unknown) => void,
  ): () => void {
    return followValue(this.#values, KEY, {
      apply: (text) => apply(parseStored(text) ?? []),
      onError,
    });
  }
}

function parseStored(text: string | undefined): readonly ApiKeyRecord[] | undefined {
  return text === undefined ? undefined : parseKeys(text, "the list of API keys in the database");
}
