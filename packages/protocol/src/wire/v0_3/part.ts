import { invalidParams } from "../../errors.ts";
import type { A2APart, DataPart, FilePart } from "../../part.ts";
import { readBase64 } from "../base64.ts";
import { checkOf } from "../check.ts";
import { withKind } from "../with-kind.ts";
import { DATA_PART, FILE_PART, TEXT_PART } from "./schemas.ts";

const CHECKS = {
  text: checkOf(TEXT_PART),
  file: checkOf(FILE_PART),
  data: checkOf(DATA_PART),
};

/** Reads a part. The value is an object already. */
export function decodePart(value: object, field: string): A2APart {
  const kind = (value as { kind?: unknown }).kind;
  if (kind !== "text" && kind !== "file" && kind !== "data") {
    throw invalidParams(`${field}.kind`, "must be one of text, file, data");
  }
  CHECKS[kind](value, field);
  const part = withKind(kind, value) as A2APart;
  if (part.kind === "file") return withOneContent(part, field);
  if (part.kind === "data") return unwrapData(part);
  return part;
}

function withOneContent(part: FilePart, field: string): FilePart {
  const { bytes, uri } = part.file;
  if ((bytes === undefined) === (uri === undefined)) {
    throw invalidParams(`${field}.file`, "must have exactly one of bytes, uri");
  }
  if (bytes === undefined) return part;
  return { ...part, file: { ...part.file, bytes: readBase64(bytes, `${field}.file.bytes`) } };
}

/** 0.3 knows objects only, so both official SDKs carry other values this way. */
export function unwrapData(part: DataPart): DataPart {
  if (part.metadata?.["data_part_compat"] !== true) return part;
  // A part that only claims to be wrapped keeps what it holds.
  if (!Object.hasOwn(part.data as object, "value")) return part;
  const { data_part_compat: _, ...metadata } = part.metadata;
  const { metadata: __, ...rest } = part;
  const data = (part.data as { value?: unknown }).value;
  return Object.keys(metadata).length === 0 ? { ...rest, data } : { ...rest, data, metadata };
}

/** Writes a part. The model is the 0.3 form, so only what 1.0 added changes. */
export function encodePart(part: A2APart): A2APart {
  if (isOldForm(part)) return part;
  if (part.kind === "file") return part;
  const { mediaType: _, filename: __, ...rest } = part;
  if (rest.kind === "text" || isObject(rest.data)) return rest;
  return {
    ...rest,
    data: { value: rest.data },
    metadata: { ...rest.metadata, data_part_compat: true },
  };
}

/** Whether 0.3 spells the part exactly as the model does. */
export function isOldForm(part: A2APart): boolean {
  if (part.kind === "file") return true;
  if (part.mediaType !== undefined || part.filename !== undefined) return false;
  return part.kind === "text" || isObject(part.data);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
