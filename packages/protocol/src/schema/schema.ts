// Common schemas of all versions.

export const text: Schema = { type: "string" };

/** Text that is not empty. */
export const filled: Schema = { type: "string", minLength: 1 };

/**
 * An id, or an empty text where that means "unset". Ids are keys of the storage and appear in logs,
 * paths and headers, so they are short and contain only characters that all of these keep apart:
 * UTF-8 has no unpaired surrogates.
 */
export const optionalId: TextSchema = {
  type: "string",
  maxLength: 256,
  pattern: "^[^\\p{Cc}\\p{Cs}]*$",
  mismatch: "must not contain control characters or unpaired surrogates",
};

export const id: TextSchema = { ...optionalId, minLength: 1 };

export const ids: Schema = { type: "array", items: optionalId };

export const texts: Schema = { type: "array", items: text };

export const object: Schema = { type: "object" };

export const count: Schema = { type: "integer", minimum: 0 };

/**
 * The schema of a value on the wire: the subset of JSON Schema that we use. Each keyword is allowed
 * only with the type to which it applies.
 */
export type Schema =
  | ObjectSchema
  | ListSchema
  | TextSchema
  | NumberSchema
  | BooleanSchema
  | EnumSchema
  | ConstSchema;

/** Other properties are allowed: later versions may add some. */
export interface ObjectSchema {
  readonly type: "object";
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

export interface ListSchema {
  readonly type: "array";
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** Lengths are in code points, so that a character outside the BMP counts once. */
export interface TextSchema {
  readonly type: "string";
  readonly minLength?: number;
  readonly maxLength?: number;
  /** A regular expression with the flag `u`. It is not anchored. */
  readonly pattern?: string;
  /** What to say about text that does not match the pattern, after the name of the field. Default: the pattern. */
  readonly mismatch?: string;
}

export interface NumberSchema {
  readonly type: "integer" | "number";
  readonly minimum?: number;
  readonly maximum?: number;
}

interface BooleanSchema {
  readonly type: "boolean";
}

/** Fixed values; they have no type. */
interface EnumSchema {
  readonly type?: never;
  readonly enum: readonly (string | number)[];
}

interface ConstSchema {
  readonly type?: never;
  readonly const: string | number;
}
