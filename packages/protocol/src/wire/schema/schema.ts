/**
 * The shape of a value of the wire: the part of JSON Schema that we use, with each keyword only
 * beside the type for which it means something.
 */
export type Schema =
  | ObjectSchema
  | ListSchema
  | TextSchema
  | NumberSchema
  | BooleanSchema
  | EnumSchema
  | ConstSchema;

/** Properties that it does not name are allowed: later versions may add some. */
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

/** Lengths are in code points, so that a sign counts once however it is stored. */
export interface TextSchema {
  readonly type: "string";
  readonly minLength?: number;
  readonly maxLength?: number;
  /** A regular expression with the flag `u`. It is not anchored. */
  readonly pattern?: string;
}

export interface NumberSchema {
  readonly type: "integer" | "number";
  readonly minimum?: number;
  readonly maximum?: number;
}

interface BooleanSchema {
  readonly type: "boolean";
}

/** Values that are what they are, so they have no type beside them. */
interface EnumSchema {
  readonly type?: never;
  readonly enum: readonly (string | number)[];
}

interface ConstSchema {
  readonly type?: never;
  readonly const: string | number;
}
