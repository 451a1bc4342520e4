import type { ListPosition } from "../log/backend.ts";

/** Where a walk through a list is. It says everything itself: the server remembers no walks. */
export interface ListToken {
  /** When the walk began, in milliseconds. */
  readonly at: number;
  /** Where the last page ended. */
  readonly position: ListPosition | undefined;
}

export function encodeToken(at: number, position: ListPosition): string {
  return Buffer.from(`${at} ${position.statusAt} ${position.taskId}`).toString("base64url");
}

/** Nothing when it is none of ours. */
export function decodeToken(token: string): ListToken | undefined {
  const text = Buffer.from(token, "base64url").toString();
  const [, at, statusAt, taskId] = /^(\d{1,15}) (\d{1,15}) (\S+)$/.exec(text) ?? [];
  if (at === undefined || statusAt === undefined || taskId === undefined) return undefined;
  return { at: Number(at), position: { statusAt: Number(statusAt), taskId } };
}
