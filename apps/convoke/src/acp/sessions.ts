import { type ListSessionsResponse, RequestError } from "@agentclientprotocol/sdk";
import type { RemoteAgent } from "@convoke/client";
import {
  ERRORS,
  EXTENSIONS,
  RemoteError,
  type Task,
  isTerminal,
  textOfParts,
} from "@convoke/protocol";
import { type PageRequest, oneLine, readPages } from "@convoke/protocol/internal";
import { textField } from "../terminal/json-fields.ts";
import type { CoderCommands } from "./coder-commands.ts";

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

/** Cancels what a session works on, and makes the coding agent forget it. */
export async function deleteSession(agent: RemoteAgent, sessionId: string): Promise<void> {
  const tasks = await listTasks(agent, sessionId);
  const open = tasks.filter(({ status }) => !isTerminal(status.state));
  await Promise.all(open.map(({ id }) => agent.cancel(id).catch(unlessEnded)));
  const conversation = agent.conversation({ contextId: sessionId });
  const { task } = await conversation.say(`/sessions delete ${sessionId}`).result;
  if (task?.status.state === "completed") return;
  throw RequestError.internalError({ sessionId }, "the agent did not delete the session");
}

/** A task that has ended in the meantime cannot be canceled any more. */
function unlessEnded(error: unknown): void {
  const isEnded = error instanceof RemoteError && error.code === ERRORS.TaskNotCancelable.code;
  if (!isEnded) throw error;
}

interface ListParams {
  readonly cwd?: string | null;
  readonly cursor?: string | null;
}

/** One page of the sessions of the caller, newest first. */
export async function listSessions(
  agent: RemoteAgent,
  commands: CoderCommands | undefined,
  params: ListParams,
): Promise<ListSessionsResponse> {
  const listed = await commands?.sessions();
  if (listed === undefined) return listByTasks(agent, params);
  const { cwd, cursor } = params;
  const sessions = listed.filter((session) => cwd == null || session.cwd === cwd);
  return pageOf(
    sessions.map(({ contextId, ...facts }) => ({ sessionId: contextId, ...facts })),
    cursor,
  );
}

/** The sessions of an agent that does not list them: the contexts of its newest tasks. */
async function listByTasks(
  agent: RemoteAgent,
  { cwd, cursor }: ListParams,
): Promise<ListSessionsResponse> {
  const tasks = await listTasks(agent);
  const contexts = [...Map.groupBy(tasks, ({ contextId }) => contextId)];
  const { sessions: shown, ...more } = pageOf(contexts, cursor);
  const sessions = await Promise.all(
    shown.map(async ([sessionId, all]) => {
      const updatedAt = all[0]?.status.timestamp;
      const first = await agent.get(all.at(-1)?.id ?? "");
      return { sessionId, ...factsOf(first, cwd), ...(updatedAt !== undefined && { updatedAt }) };
    }),
  );
  return { sessions: sessions.filter((session) => cwd == null || session.cwd === cwd), ...more };
}

function pageOf<Session>(
  all: readonly Session[],
  cursor: string | null | undefined,
): { sessions: Session[]; nextCursor?: string } {
  const start = Number(cursor ?? 0) || 0;
  const end = start + PAGE_SIZE;
  const sessions = all.slice(start, end);
  return { sessions, ...(end < all.length && { nextCursor: String(end) }) };
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
  const read = (page: PageRequest) =>
    agent.list({
      pageSize: 100,
      historyLength: 0,
      ...(contextId !== undefined && { contextId }),
      ...page,
    });
  for await (const page of readPages(read)) {
    tasks.push(...page.tasks);
    if (page.tasks.length === 0 || tasks.length >= MAX_TASKS) break;
  }
  return tasks;
}
