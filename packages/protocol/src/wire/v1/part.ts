import { invalidParams } from "../../errors.ts";
import type { A2APart, Metadata } from "../../part.ts";
import { readBase64 } from "../base64.ts";
import { checkOf } from "../check.ts";
import { withKind } from "../with-kind.ts";
import { PART } from "./schemas.ts";

const check = checkOf(PART);

/** A part as 1.0 writes it: flat, told apart by which member is there. */
interface WirePart {
  readonly text?: string;
  readonly raw?: string;
  readonly url?: string;
  readonly data?: unknown;
  readonly filename?: string;
  readonly mediaType?: string;
  readonly metadata?: Metadata;
}

const CONTENTS = ["text", "raw", "url", "data"] as const;

/** Reads a part. The value is an object already. */
export function decodePart(value: object, field: string): A2APart {
  check(value, field);
  // By presence, not by truth: `text: ""` and `data: null` are content.
  if (contentsIn(value) !== 1) {
    throw invalidParams(field, "must have exactly one of text, raw, url, data");
  }
  const { text } = value as WirePart;
  if (typeof text === "string") return withKind("text", { ...value, text });
  const { raw, url, ...rest } = value as WirePart;
  if ("text" in rest) return withKind("text", { ...rest, text: "" });
  if ("data" in rest) return withKind("data", { ...rest, data: rest.data });
  const { filename, mediaType, ...others } = rest;
  return withKind("file", {
    ...others,
    file: {
      ...(filename !== undefined && { name: filename }),
      ...(mediaType !== undefined && { mimeType: mediaType }),
      ...(raw === undefined ? {} : { bytes: readBase64(raw, `${field}.raw`) }),
      ...(url === undefined ? {} : { uri: url }),
    },
  });
}

function contentsIn(value: object): number {
  let count = 0;
  for (const name of CONTENTS) if (name in value) count++;
  return count;
}

/** Writes a part. */
export function encodePart(part: A2APart): WirePart {
  if (part.kind !== "file") {
    const { kind: _, ...rest } = part;
    return rest;
  }
  const { kind: _, file, ...rest } = part;
  return {
    ...rest,
    ...(file.bytes !== undefined && { raw: file.bytes }),
    ...(file.uri !== undefined && { url: file.uri }),
    ...(file.name !== undefined && { filename: file.name }),
    ...(file.mimeType !== undefined && { mediaType: file.mimeType }),
  };
}
