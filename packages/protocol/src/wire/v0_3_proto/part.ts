import { invalidParams } from "../../errors.ts";
import type { A2APart, FileContent, Metadata } from "../../part.ts";
import { readBase64 } from "../base64.ts";
import { checkOf } from "../check.ts";
import {
  decodePart as decodeKindPart,
  encodePart as encodeKindPart,
  unwrapData,
} from "../v0_3/part.ts";
import { withKind } from "../with-kind.ts";
import { fieldsOf, shapeOf } from "./proto-fields.ts";
import { FILE, PART } from "./schemas.ts";

const checkPart = checkOf(PART);
const checkFile = checkOf(FILE);

const PART_SHAPE = shapeOf(["text", "file", "data", "metadata"]);
const FILE_SHAPE = shapeOf(["fileWithUri", "fileWithBytes", "mimeType", "name"]);

/** A part as the proto has it: told apart by which member is there. */
interface WirePart {
  readonly text?: string;
  readonly file?: WireFile;
  readonly data?: { readonly data: unknown };
  readonly metadata?: Metadata;
}

interface WireFile {
  readonly fileWithUri?: string;
  readonly fileWithBytes?: string;
  readonly mimeType?: string;
  readonly name?: string;
}

/** Reads a part, in this dialect or in that of JSON-RPC. The value is an object already. */
export function decodePart(value: object, field: string): A2APart {
  if ("kind" in value) return decodeKindPart(value, field);
  const named = fieldsOf(value, PART_SHAPE);
  checkPart(named, field);
  const { text, file, data, ...rest } = named as WirePart;
  if ([text, file, data].filter((content) => content !== undefined).length !== 1) {
    throw invalidParams(field, "must have exactly one of text, file, data");
  }
  if (text !== undefined) return withKind("text", { ...rest, text });
  if (data !== undefined) return unwrapData(withKind("data", { ...rest, data: data.data }));
  return withKind("file", { ...rest, file: decodeFile(file, `${field}.file`) });
}

function decodeFile(value: unknown, field: string): FileContent {
  const named = fieldsOf(value, FILE_SHAPE);
  checkFile(named, field);
  const { fileWithUri, fileWithBytes, ...rest } = named as WireFile;
  if ((fileWithUri === undefined) === (fileWithBytes === undefined)) {
    throw invalidParams(field, "must have exactly one of fileWithUri, fileWithBytes");
  }
  return {
    ...rest,
    ...(fileWithBytes !== undefined && {
      bytes: readBase64(fileWithBytes, `${field}.fileWithBytes`),
    }),
    ...(fileWithUri !== undefined && { uri: fileWithUri }),
  };
}

/** Writes a part. What 0.3 has no place for is settled as in its other dialect. */
export function encodePart(part: A2APart): WirePart {
  const old = encodeKindPart(part);
  switch (old.kind) {
    case "text": {
      const { kind: _, ...rest } = old;
      return rest;
    }
    case "data": {
      const { kind: _, data, ...rest } = old;
      return { ...rest, data: { data } };
    }
    case "file": {
      const { kind: _, file, ...rest } = old;
      return { ...rest, file: encodeFile(file) };
    }
    default:
      return old satisfies never;
  }
}

function encodeFile({ bytes, uri, ...rest }: FileContent): WireFile {
  return {
    ...(uri !== undefined && { fileWithUri: uri }),
    ...(bytes !== undefined && { fileWithBytes: bytes }),
    ...rest,
  };
}
