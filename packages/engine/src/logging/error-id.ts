import { randomBytes } from "node:crypto";

/** A short id that an answer and the log share, so that people can find the one from the other. */
export function newErrorId(): string {
  return randomBytes(6).toString("hex");
}
