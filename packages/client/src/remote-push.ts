import type { CallOptions, Connection, PushConfig, PushTarget } from "@convoke/protocol";

/** The push configs of an agent's tasks: where it sends their updates to. */
export class RemotePush {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Has the updates of a task pushed from now on. A config of the same id is replaced; without an id the agent chooses one. */
  set(taskId: string, target: PushTarget, { signal }: CallOptions = {}): Promise<PushConfig> {
    return this.#connection.call("createPushConfig", { taskId, target }, { signal });
  }

  /** A push config of a task; without an id the one that was set without an id. */
  get(taskId: string, id?: string, { signal }: CallOptions = {}): Promise<PushConfig> {
    const request = { taskId, ...(id !== undefined && { id }) };
    return this.#connection.call("getPushConfig", request, { signal });
  }

  /** All push configs of a task, on however many pages the agent has them. */
  async list(taskId: string, { signal }: CallOptions = {}): Promise<readonly PushConfig[]> {
    const all: PushConfig[] = [];
    for (let pageToken = ""; ;) {
      const request = { taskId, ...(pageToken && { pageToken }) };
      const page = await this.#connection.call("listPushConfigs", request, { signal });
      all.push(...page.configs);
      pageToken = page.nextPageToken;
      // An empty page ends it too: an agent that always promises more must not keep its caller forever.
      if (pageToken === "" || page.configs.length === 0) return all;
    }
  }

  /** Ends the pushing of one config. It may be gone already. */
  delete(taskId: string, id: string, { signal }: CallOptions = {}): Promise<void> {
    return this.#connection.call("deletePushConfig", { taskId, id }, { signal });
  }
}
