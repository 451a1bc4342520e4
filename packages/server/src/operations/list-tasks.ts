import {
  type ListTasksRequest,
  type TaskPage,
  invalidParams,
  withHistoryLength,
} from "@convoke/protocol";
import type { ListPosition } from "../tasks/backend.ts";
import type { Call } from "./call.ts";

/** A page of the caller's tasks, newest status first. */
export async function listTasks(request: ListTasksRequest, call: Call): Promise<TaskPage> {
  const { engine, caller } = call;
  const { pageSize, pageToken, contextId, state, statusTimestampAfter, historyLength } = request;
  const { records, total } = await engine.backend.tasks.list({
    owner: caller.owner,
    limit: pageSize + 1,
    ...(contextId !== undefined && { contextId }),
    ...(state !== undefined && { state }),
    ...(statusTimestampAfter !== undefined && { since: Date.parse(statusTimestampAfter) }),
    ...(pageToken !== undefined && { after: decodeToken(pageToken) }),
  });
  const shown = records.slice(0, pageSize);
  const last = shown.at(-1);
  const folded = await Promise.all(shown.map(({ taskId }) => engine.find(taskId, caller)));
  return {
    tasks: folded.map(({ task }) => withHistoryLength(task, historyLength)),
    nextPageToken: records.length > pageSize && last !== undefined ? encodeToken(last) : "",
    pageSize,
    totalSize: total,
  };
}

/** A token says where the page ended, so pages stay right while tasks come and go. */
function encodeToken({ statusAt, taskId }: ListPosition): string {
  return Buffer.from(`${statusAt} ${taskId}`).toString("base64url");
}

function decodeToken(token: string): ListPosition {
  const [, statusAt, taskId] =
    /^(\d+) (\S+)$/.exec(Buffer.from(token, "base64url").toString()) ?? [];
  if (statusAt === undefined || taskId === undefined) {
    throw invalidParams("pageToken", "is not a token of an earlier page");
  }
  return { statusAt: Number(statusAt), taskId };
}
