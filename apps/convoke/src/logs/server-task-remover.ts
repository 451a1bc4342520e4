import { TASK_STATES, isTerminal } from "@convoke/protocol";
import { type PageRequest, readPages } from "@convoke/protocol/internal";
import { type ServerApi, openServer } from "../connect/ask-server.ts";
import { type CommandContext, UsageError } from "../terminal/command.ts";
import { listField, objectField, textField } from "../terminal/json-fields.ts";
import { ownerText } from "../terminal/output.ts";
import { MOST_FOUND, chooseTask } from "./task-source.ts";
import type { DeletableTask, TaskFilter, TaskRemover } from "./task-remover.ts";

const PATH = "/convoke/tasks";

/** Deletes tasks of a running server. */
export class ServerTaskRemover implements TaskRemover {
  readonly #server: ServerApi;
  /** The parameter `owner`, if the tasks of other owners are meant. */
  readonly #owner: Readonly<Record<string, string>>;

  static async open(context: CommandContext): Promise<ServerTaskRemover> {
    const isForOthers = context.text("owner") !== undefined;
    return new ServerTaskRemover(await openServer(context), isForOthers ? { owner: "*" } : {});
  }

  private constructor(server: ServerApi, owner: Readonly<Record<string, string>>) {
    this.#server = server;
    this.#owner = owner;
  }

  async find(given: string): Promise<DeletableTask> {
    const { tasks } = await this.#page({ idPrefix: given, pageSize: String(MOST_FOUND) });
    const chosen = chooseTask(
      given,
      tasks.map(({ id }) => id),
    );
    const found = tasks.find(({ id }) => id === chosen);
    if (found === undefined) throw new UsageError(`There is no task ${chosen}.`);
    return found;
  }

  async *select({ contextId, owner, before, state }: TaskFilter): AsyncGenerator<DeletableTask> {
    const query = {
      pageSize: "100",
      ...(contextId !== undefined && { contextId }),
      ...(state !== undefined && { status: state }),
    };
    const read = (page: PageRequest) => this.#page({ ...query, ...page });
    for await (const { tasks } of readPages(read, { maxPages: Infinity })) {
      for (const task of tasks) {
        const isOfOwner = owner === undefined || owner === "*" || task.ownerName === owner;
        const isOld = before === undefined || Date.parse(task.statusAt) < before;
        if (isOfOwner && isOld) yield task;
      }
    }
  }

  async remove(taskIds: readonly string[], cancel: boolean): Promise<readonly string[]> {
    const answer = await this.#server.ask({
      path: `${PATH}:delete`,
      query: this.#owner,
      body: { taskIds, cancel },
      about: "deleting tasks",
    });
    return listField(answer, "deleted").map(String);
  }

  async close(): Promise<void> {
    this.#server.close();
  }

  async #page(query: Readonly<Record<string, string>>) {
    const asked = { ...this.#owner, ...query };
    const page = await this.#server.ask({ path: PATH, query: asked, about: "tasks" });
    const tasks = listField(page, "tasks").map(toTask);
    return { tasks, nextPageToken: page["nextPageToken"] };
  }
}

function toTask(entry: unknown): DeletableTask & { readonly ownerName: string } {
  const status = objectField(entry, "status");
  const state = textField(status, "state");
  const known = TASK_STATES.find((name) => name === state);
  return {
    id: textField(entry, "id"),
    state,
    statusAt: textField(status, "timestamp"),
    owner: ownerText(objectField({ entry }, "entry")),
    ownerName: textField(entry, "owner"),
    isUnfinished: known === undefined || !isTerminal(known),
  };
}
