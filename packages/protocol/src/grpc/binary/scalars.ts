import { util } from "protobufjs/minimal.js";
import { invalidParams } from "../../model/errors.ts";
import type { Kind } from "./wire-format.ts";

export function encodeBase64(buffer: Uint8Array): string {
  return util.base64.encode(buffer, 0, buffer.length);
}

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

function decodeBase64(text: string, field: string): Uint8Array {
  const unpadded = text.length - (text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0);
  if (!BASE64.test(text) || unpadded % 4 === 1) throw invalidParams(field, "must be base64");
  const buffer = new Uint8Array(Math.floor((unpadded * 3) / 4));
  util.base64.decode(text, buffer, 0);
  return buffer;
}

/** Base64 in JSON. Accepts both alphabets, with or without padding. */
const bytes: Kind = {
  wireType: 2,
  zero: "",
  write(writer, value, field) {
    if (typeof value !== "string") throw invalidParams(field, "must be a string of base64");
    writer.bytes(decodeBase64(value, field));
  },
  read: (reader) => encodeBase64(reader.bytes()),
};

const INT32_MAX = 2_147_483_647;

const int32: Kind = {
  wireType: 0,
  zero: 0,
  write(writer, value, field) {
    // `| 0` truncates to 32 bits, so only a 32-bit integer is unchanged by it.
    if (typeof value !== "number" || (value | 0) !== value) {
      throw invalidParams(field, `must be an integer between -${INT32_MAX + 1} and ${INT32_MAX}`);
    }
    writer.int32(value);
  },
  read: (reader) => reader.int32(),
};

const bool: Kind = {
  wireType: 0,
  zero: false,
  write(writer, value, field) {
    if (typeof value !== "boolean") throw invalidParams(field, "must be a boolean");
    writer.bool(value);
  },
  read: (reader) => reader.bool(),
};

/** A lone surrogate, which a cut text stream may leave behind, has no UTF-8 and peers reject it; it is replaced. */
const string: Kind = {
  wireType: 2,
  zero: "",
  write(writer, value, field) {
    if (typeof value !== "string") throw invalidParams(field, "must be a string");
    writer.string(value.toWellFormed());
  },
  read: (reader) => reader.stringVerify(),
};

/** The scalar types. */
export const SCALARS = { string, bool, int32, bytes } as const satisfies Record<string, Kind>;

/** An enum, by name in JSON. A number without a name stays a number. */
export function enumKind(names: readonly string[]): Kind {
  return {
    wireType: 0,
    zero: names[0],
    write(writer, value, field) {
      const number = typeof value === "number" ? value : names.indexOf(value as string);
      if (!Number.isInteger(number) || number < 0 || number > INT32_MAX) {
        throw invalidParams(field, `must be one of ${names.join(", ")}`);
      }
      writer.int32(number);
    },
    read(reader) {
      const number = reader.int32();
      return names[number] ?? number;
    },
  };
}
