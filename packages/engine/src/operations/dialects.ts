import {
  type Dialect,
  type DialectStream,
  type InternalEvent,
  type Message,
  type Task,
  isMessageReceived,
} from "@convoke/protocol";
import type { Seq } from "../log/backend.ts";
import { type LogEntry, readEntry } from "../log/log-entry.ts";
import type { Engine } from "../run/engine.ts";
import { type Call, scopeOf } from "./call.ts";

/** The dialect that a request activates with the header for extensions, if any. */
export function activeDialect({ agent, extensions }: Call): Dialect | undefined {
  return agent.definition.dialects?.find(({ uri }) => extensions?.has(uri) === true);
}

/** The dialect in which a message is answered: the one that it activates, or that of its task. */
export async function dialectFor(call: Call, message: Message): Promise<Dialect | undefined> {
  const { dialects } = call.agent.definition;
  if (dialects === undefined) return undefined;
  const own = activeDialect(call) ?? dialects.find((dialect) => dialect.isUsedBy?.(message));
  if (own !== undefined || message.taskId === undefined) return own;
  return dialectOfTask(call, message.taskId);
}

const FIRST_PAGE = 16;

/**
 * The dialect that the first message of a task activated by its content. Clients that do so do not
 * repeat it, unlike those that send a header. A request that activates another dialect gets that one.
 */
export async function dialectOfTask(call: Call, taskId: string): Promise<Dialect | undefined> {
  const { engine, agent } = call;
  const { dialects } = agent.definition;
  if (dialects === undefined) return undefined;
  await engine.tasks.record(taskId, scopeOf(call));
  const events = (await engine.backend.read(taskId, 0, FIRST_PAGE)).map(
    (one) => readEntry(one).event,
  );
  const sent = events.find(
    (event) => isMessageReceived(event) || event.kind === "internal:activated",
  );
  const { extensions } = (sent ?? {}) as Partial<InternalEvent>;
  const uris: readonly unknown[] = Array.isArray(extensions) ? extensions : [];
  return dialects.find((one) => one.isUsedBy !== undefined && uris.includes(one.uri));
}

/** Adds the dialect to the extensions of a request, so that the agent sees it, and its log has it. */
export function withDialect(call: Call, dialect: Dialect | undefined): Call {
  if (dialect === undefined) return call;
  return { ...call, extensions: new Set([...(call.extensions ?? []), dialect.uri]) };
}

/** Opens a stream in a dialect for a reader that has read everything up to `after`. */
export async function openDialect(
  dialect: Dialect,
  engine: Engine,
  { taskId, after }: { readonly taskId: string; readonly after: Seq },
): Promise<DialectStream> {
  const stream = dialect.stream();
  await forEachEntry(engine, { taskId, upTo: after }, ({ event, seq }) => stream.next(event, seq));
  return stream;
}

/**
 * A task in a dialect. The dialect needs the whole log: a task whose log was compacted is returned
 * as it is.
 */
export async function taskInDialect(
  dialect: Dialect | undefined,
  engine: Engine,
  { task, head: upTo }: { readonly task: Task; readonly head: Seq },
): Promise<Task> {
  if (dialect === undefined) return task;
  const snapshot = dialect.snapshot();
  let isWhole = false;
  await forEachEntry(engine, { taskId: task.id, upTo }, ({ event, seq }) => {
    isWhole ||= seq === 1;
    if (isWhole) snapshot.add(event, seq);
  });
  return isWhole ? snapshot.task(task) : task;
}

const PAGE = 256;

/** Reads the log of a task from its beginning. */
async function forEachEntry(
  { backend }: Engine,
  { taskId, upTo }: { readonly taskId: string; readonly upTo: Seq },
  visit: (entry: LogEntry) => unknown,
): Promise<void> {
  for (let after: Seq = 0; after < upTo;) {
    const page = await backend.read(taskId, after, Math.min(PAGE, upTo - after));
    for (const stored of page) visit(readEntry(stored));
    if (page.length === 0) return;
    after = page.at(-1)?.seq ?? upTo;
  }
}
