import type { ApiKey } from "@convoke/client";
import { didYouMean } from "../nearest.ts";
import { UsageError } from "../usage-error.ts";
import { readHeader } from "./header-option.ts";

const PLACES = ["header", "query", "cookie"] as const satisfies readonly ApiKey["in"][];

/** Reads `--api-key name=value[:in]`. The value is a secret, so no error repeats it. */
export function readApiKey(text: string): ApiKey {
  const [, name = "", rest = ""] = /^([^=\s]+)=(.+)$/s.exec(text) ?? [];
  if (name === "") throw new UsageError("--api-key must look like name=value or name=value:query.");
  const place = PLACES.find((word) => rest.endsWith(`:${word}`));
  const value = place === undefined ? rest : rest.slice(0, -place.length - 1);
  const last = /:([a-z]{4,7})$/i.exec(rest)?.[1] ?? "";
  const guess = place === undefined ? didYouMean(last, PLACES) : "";
  // A key may hold a colon itself, so only what is nearly one of the places is a slip.
  if (guess !== "") throw new UsageError(`--api-key goes to header, query or cookie.${guess}`);
  if (value === "") throw new UsageError(`--api-key ${name} has no value.`);
  if (place === undefined || place === "header") {
    const [, checked] = readHeader(`${name}: ${value}`);
    return { in: "header", name, value: checked };
  }
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) {
    throw new UsageError(`--api-key ${JSON.stringify(name)} cannot be the name of a ${place}.`);
  }
  // A comma, a semicolon or a blank would end a cookie (RFC 6265 §4.1.1).
  if (place === "query" || /^[!#-+\--:<-[\]-~]+$/.test(value)) return { in: place, name, value };
  throw new UsageError(`--api-key ${name} holds characters that no cookie can have.`);
}
