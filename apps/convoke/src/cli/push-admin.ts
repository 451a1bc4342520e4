import { askServer, unreadable } from "./ask-server.ts";
import type { CommandContext } from "./command.ts";

/** What the server says about one push config; nobody has checked it. */
export type PushReport = Readonly<Record<string, unknown>>;

const ABOUT = "pushes";

/** The push configs of the caller in one state. */
export async function listPushes(
  context: CommandContext,
  state: string,
): Promise<readonly PushReport[]> {
  const path = `/convoke/pushes?state=${encodeURIComponent(state)}`;
  const { pushes } = await askServer(context, { path, about: ABOUT });
  if (Array.isArray(pushes)) return pushes as readonly PushReport[];
  throw unreadable("names no pushes");
}

/** Tries again what was given up, and gives how many configs that are. */
export async function replayPushes(
  context: CommandContext,
  which: { readonly taskId?: string; readonly id?: string },
): Promise<number> {
  const path = "/convoke/pushes:replay";
  const { replayed } = await askServer(context, { path, body: which, about: ABOUT });
  if (typeof replayed === "number") return replayed;
  throw unreadable("does not say how many pushes it tries again");
}
