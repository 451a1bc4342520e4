import type { RemoteAgent } from "@convoke/client";
import type { Task } from "@convoke/protocol";

/** The message with which a sub-agent was called. */
export interface SentMessage {
  readonly messageId: string;
  /** The context that it was sent to. */
  readonly childContextId: string;
}

const PAGE_SIZE = 50;
const MAX_PAGES = 20;
/** As many of the newest messages of a task as are looked through. */
const MAX_HISTORY = 100;

/** The task that a message began, when a crash came before the sub-agent had named it. */
export async function findChild(
  remote: RemoteAgent,
  { messageId, childContextId: contextId }: SentMessage,
  signal: AbortSignal,
): Promise<Task | undefined> {
  const request = { contextId, pageSize: PAGE_SIZE, historyLength: MAX_HISTORY, signal };
  let pageToken = "";
  for (let page = 0; page < MAX_PAGES; page++) {
    const asked = { ...request, ...(pageToken !== "" && { pageToken }) };
    const { tasks, nextPageToken } = await remote.list(asked);
    const found = tasks.find(({ history = [] }) =>
      history.some((message) => message.messageId === messageId),
    );
    if (found !== undefined || nextPageToken === "") return found;
    pageToken = nextPageToken;
  }
  return undefined;
}
