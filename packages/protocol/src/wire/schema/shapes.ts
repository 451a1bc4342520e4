import type { Schema } from "./schema.ts";

// The small shapes that the schemas of all versions are made of.

export const text: Schema = { type: "string" };
export const id: Schema = { type: "string", minLength: 1 };
export const texts: Schema = { type: "array", items: text };
export const object: Schema = { type: "object" };
export const count: Schema = { type: "integer", minimum: 0 };
