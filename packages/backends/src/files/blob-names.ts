/** Characters of task ids that names of folders and objects have as they are. */
const PLAIN = /[^\w-]/g;

/** A name for the contents of a task, in folders and in buckets. It has no dots and no slashes. */
export function taskName(taskId: string): string {
  return Buffer.from(taskId, "utf8")
    .toString("latin1")
    .replaceAll(PLAIN, (one) => `%${one.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

/** The opposite of `taskName`; `undefined` for names that it does not create. */
export function taskOfName(name: string): string | undefined {
  if (!/^(?:[\w-]|%[0-9a-f]{2})+$/.test(name)) return undefined;
  const bytes = name.replaceAll(/%(..)/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, "latin1").toString("utf8");
}

/** Where the stores below a store are. No task has a name with a dot. */
const BELOW = "agents.d";

/** The place of a store below another one, relative to it. */
export function belowName(name: string): string {
  return `${BELOW}/${taskName(name)}`;
}

/** The name of a content, which is its digest. Throws for anything else: it may come from a request. */
export function blobName(digest: string): string {
  if (!/^[0-9a-f]{64}$/.test(digest)) {
    throw new TypeError(`${JSON.stringify(digest)} is not a SHA-256 in hexadecimal digits`);
  }
  return digest;
}
