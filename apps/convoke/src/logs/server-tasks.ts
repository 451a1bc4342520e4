import { type JsonObject, type PageRequest, isObject, readPages } from "@convoke/protocol/internal";
import { readOwner } from "../connect/agent-options.ts";
import { type ServerApi, openServer, unreadable } from "../connect/ask-server.ts";
import type { CommandContext } from "../terminal/command.ts";
import { listField, textField } from "../terminal/json-fields.ts";
import {
  type LogItem,
  type LogRequest,
  type LoggedTask,
  MOST_FOUND,
  type TaskSource,
  chooseTask,
} from "./task-source.ts";

const ABOUT = "logs of tasks; a newer one has them on loopback, or with CONVOKE_READ_API=1";

/** The tasks of a running server, through its read API. */
export class ServerTasks implements TaskSource {
  readonly #server: ServerApi;
  /** The parameter `owner`, if the tasks of all owners are meant. */
  readonly #owner: Readonly<Record<string, string>>;

  static async open(context: CommandContext): Promise<ServerTasks> {
    const owner = readOwner(context);
    return new ServerTasks(await openServer(context), owner);
  }

  private constructor(server: ServerApi, owner: Readonly<Record<string, string>>) {
    this.#server = server;
    this.#owner = owner;
  }

  async find(given: string): Promise<string> {
    const page = await this.#list({ idPrefix: given, pageSize: String(MOST_FOUND) });
    return chooseTask(given, page.ids);
  }

  async *ids(): AsyncGenerator<string> {
    const read = (page: PageRequest) => this.#list({ pageSize: "100", ...page });
    for await (const { ids } of readPages(read, { maxPages: Infinity })) yield* ids;
  }

  async open(taskId: string, request: LogRequest): Promise<LoggedTask> {
    const first = await this.#page(taskId, request, request.after ?? 0);
    const { events: _, next: _next, ...about } = first;
    return { about, events: this.#events(taskId, request, first) };
  }

  /** Follows a log until its task ends. Ends early, as "cut", if the connection is lost. */
  async *follow(taskId: string, request: LogRequest): AsyncGenerator<LogItem, "over" | "cut"> {
    const question = { path: logPath(taskId), query: this.#query(request), about: ABOUT };
    const events = this.#server.events(question, String(request.after ?? 0));
    for (;;) {
      const { done, value } = await events.next();
      if (done === true) return value;
      yield toItem(value);
    }
  }

  async close(): Promise<void> {
    this.#server.close();
  }

  async *#events(taskId: string, request: LogRequest, first: JsonObject): AsyncGenerator<LogItem> {
    for (let page = first; ;) {
      for (const item of listField(page, "events")) yield toItem(item);
      const { next } = page;
      if (typeof next !== "number") return;
      page = await this.#page(taskId, request, next);
    }
  }

  #page(taskId: string, request: LogRequest, after: number): Promise<JsonObject> {
    const query = { ...this.#query(request), after: String(after), limit: "1000" };
    return this.#server.ask({ path: logPath(taskId), query, about: ABOUT });
  }

  async #list(query: Readonly<Record<string, string>>) {
    const asked = { ...this.#owner, ...query };
    const page = await this.#server.ask({ path: "/convoke/tasks", query: asked, about: "tasks" });
    const ids = listField(page, "tasks").map((task) => textField(task, "id"));
    return { ids, nextPageToken: page["nextPageToken"] };
  }

  #query({ notes, joinsChunks }: LogRequest): Readonly<Record<string, string>> {
    return {
      ...this.#owner,
      ...(notes !== undefined && { notes: String(notes) }),
      ...(joinsChunks && { join: "chunks" }),
    };
  }
}

function logPath(taskId: string): string {
  return `/convoke/tasks/${encodeURIComponent(taskId)}/log`;
}

function toItem(value: unknown): LogItem {
  if (isObject(value) && typeof value["seq"] === "number") return value;
  throw unreadable("has an event without a position");
}
