// Primitives that several packages need. Internal code, does not follow semantic versioning.
export { oneLine, printable } from "./printable.ts";
