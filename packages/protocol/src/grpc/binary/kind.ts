import type { Reader, Writer } from "protobufjs/minimal.js";

/** How values of one type are written and read. `field` is what an error calls them. */
export interface Kind {
  readonly wireType: 0 | 2;
  /** What an absent field means, where absence means a value. */
  readonly zero?: unknown;
  /** Whether null is a value like any other; elsewhere it means absent. */
  readonly takesNull?: true;
  write(writer: Writer, value: unknown, field: string): void;
  /** Reads a value; a message that comes in pieces is added to the piece `before`. */
  read(reader: Reader, field: string, before: unknown): unknown;
}
