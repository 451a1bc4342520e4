import { UsageError } from "../usage-error.ts";

/** What the client itself says about the request; saying it twice would break the request. */
const OWN =
  /^(?:a2a-.*|accept|connection|content-.*|expect|host|keep-alive|last-event-id|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i;

/** Reads `--header "Name: value"`. The value may be a secret, so no error repeats it. */
export function readHeader(text: string): readonly [name: string, value: string] {
  const [, name = "", value = ""] = /^([^:\s]+):[ \t]*(.*?)[ \t]*$/s.exec(text) ?? [];
  if (name === "") throw new UsageError('--header must look like "Name: value".');
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) {
    throw new UsageError(
      `--header ${JSON.stringify(name)} holds characters that no name can have.`,
    );
  }
  if (OWN.test(name))
    throw new UsageError(`--header ${name} is set by convoke itself; leave it out.`);
  if (/^[\u0020-\u007E\t]+$/.test(value)) return [name, value];
  const problem = value === "" ? "has no value" : "holds characters that no header can have";
  throw new UsageError(`--header ${name} ${problem}.`);
}

/** All of them as one record; a header that is given twice is a mistake. */
export function readHeaders(texts: readonly string[]): Readonly<Record<string, string>> {
  const headers = new Map<string, readonly [string, string]>();
  for (const text of texts) {
    const header = readHeader(text);
    const key = header[0].toLowerCase();
    if (headers.has(key)) throw new UsageError(`--header ${header[0]} is given twice.`);
    headers.set(key, header);
  }
  return Object.fromEntries(headers.values());
}
