/** What a field is besides its type. */
type Rule =
  | "repeated"
  /** A map from text to the type. */
  | "map"
  /** Told apart from its default, as proto3 `optional` is. */
  | "optional"
  /** One of several, told apart from its default. */
  | `oneof ${string}`;

/** A field by its JSON name: its number, its type, and its rule. */
export type FieldRow = readonly [number: number, type: string, rule?: Rule];

/** Messages by name, as the proto file has them. */
export type MessageTables = Readonly<Record<string, Readonly<Record<string, FieldRow>>>>;

/** Enums by name: their values in the order of their numbers, from 0. */
export type EnumTables = Readonly<Record<string, readonly string[]>>;

/** All that one proto package says about bytes. */
export interface ProtoTables {
  readonly messages: MessageTables;
  readonly enums: EnumTables;
}
