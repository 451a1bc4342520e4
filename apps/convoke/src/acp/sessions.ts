import type { ListSessionsResponse } from "@agentclientprotocol/sdk";
import type { RemoteAgent } from "@convoke/client";
import { EXTENSIONS, type Task, textOfParts } from "@convoke/protocol";
import { oneLine } from "@convoke/protocol/internal";
import { textField } from "../terminal/json-fields.ts";

/** The newest tasks that are searched for sessions. */
const MAX_TASKS = 1000;

const PAGE_SIZE = 20;

const MAX_TITLE = 80;

/** The tasks of a session with everything in them, in the order of their creation. */
export async function tasksOf(agent: RemoteAgent, sessionId: string): Promise<readonly Task[]> {
  const found = await listTasks(agent, sessionId);
  const tasks: Task[] = [];
  // Ids are not in order for every agent, but the times of their last status are.
  for (const { id } of found.toReversed()) tasks.push(await agent.get(id));
  return tasks;
}

/** One page of the sessions of the caller, newest first. */
export async function listSessions(
  agent: RemoteAgent,
  { cwd, cursor }: { readonly cwd?: string | null; readonly cursor?: string | null },
): Promise<ListSessionsResponse> {
  const tasks = await listTasks(agent);
  const sessions = [...Map.groupBy(tasks, ({ contextId }) => contextId)];
  const start = Number(cursor ?? 0) || 0;
  const shown = await Promise.all(
    sessions.slice(start, start + PAGE_SIZE).map(async ([sessionId, all]) => {
      const updatedAt = all[0]?.status.timestamp;
      const first = await agent.get(all.at(-1)?.id ?? "");
      return { sessionId, ...factsOf(first, cwd), ...(updatedAt !== undefined && { updatedAt }) };
    }),
  );
  const isMore = start + PAGE_SIZE < sessions.length;
  return {
    sessions: shown.filter((session) => cwd == null || session.cwd === cwd),
    ...(isMore && { nextCursor: String(start + PAGE_SIZE) }),
  };
}

/** The title and the folder of a session, from its first message. */
function factsOf({ history = [] }: Task, cwd: string | null | undefined) {
  const first = history.find(({ role }) => role === "user");
  const title = oneLine(textOfParts(first?.parts ?? []), MAX_TITLE);
  const folder = textField(first?.metadata?.[EXTENSIONS.coder.uri], "workspacePath");
  return { title, cwd: folder || (cwd ?? process.cwd()) };
}

/** The newest tasks of the caller, newest first. */
async function listTasks(agent: RemoteAgent, contextId?: string): Promise<readonly Task[]> {
  const tasks: Task[] = [];
  let pageToken = "";
  do {
    const page = await agent.list({
      pageSize: 100,
      historyLength: 0,
      ...(contextId !== undefined && { contextId }),
      ...(pageToken !== "" && { pageToken }),
    });
    tasks.push(...page.tasks);
    pageToken = page.tasks.length === 0 ? "" : page.nextPageToken;
  } while (pageToken !== "" && tasks.length < MAX_TASKS);
  return tasks;
}
