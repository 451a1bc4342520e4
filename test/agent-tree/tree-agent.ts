import { type RemoteAgent, connect } from "@convoke/client";
import { EXTENSIONS, type Task } from "@convoke/protocol";
import { join } from "node:path";
import type { Directory } from "../harness/caller.ts";
import { MortalServer } from "../harness/mortal-server.ts";
import type { StoredTask } from "../harness/stored-tasks.ts";
import { keptPort } from "../harness/kept-port.ts";
import { type Note, Notes } from "./notes.ts";
import type { TreeSettings } from "./tree-process.ts";

type TreeAgentOptions = Partial<Pick<TreeSettings, "subAgents" | "allowsCycles" | "port">>;

const OPEN = ["submitted", "working", "input-required", "auth-required"] as const;

/** An agent in its own process, which can be killed and restarted at the same address. */
export class TreeAgent implements Directory {
  readonly name: string;
  readonly #server = new MortalServer({
    script: new URL("./tree-process.ts", import.meta.url),
    env: () => ({ CONVOKE_TREE: JSON.stringify(this.#settings()) }),
  });
  /** Everything that its processes leave behind. */
  readonly folder = this.#server.folder;
  readonly notesFile = join(this.folder, "notes");
  readonly #notes = new Notes(this.notesFile);
  readonly #options: TreeAgentOptions;
  #port: number;
  #client: Promise<RemoteAgent> | undefined;

  constructor(name: string, options: TreeAgentOptions = {}) {
    this.name = name;
    this.#options = options;
    this.#port = options.port ?? 0;
  }

  get address(): string {
    return `http://127.0.0.1:${this.#port}/`;
  }

  /** What it did, across all restarts. */
  get notes(): readonly Note[] {
    return this.#notes.all();
  }

  /** Everything that its processes wrote to standard error. */
  get complaints(): string {
    return this.#server.complaints;
  }

  /** Its URL, also while no process is running. */
  async url(): Promise<string> {
    return this.address;
  }

  async start(): Promise<void> {
    this.#port ||= await keptPort();
    await this.#server.start();
  }

  kill(): Promise<void> {
    return this.#server.kill();
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** A client that activates the extensions for data parts. */
  client(): Promise<RemoteAgent> {
    const extensions = [EXTENSIONS.approvals.uri, EXTENSIONS.budget.uri];
    this.#client ??= connect(this.address, { extensions });
    return this.#client;
  }

  /** Its tasks for a task of its caller. */
  async tasksFor(callerTaskId: string): Promise<readonly Task[]> {
    const remote = await this.client();
    const { tasks } = await remote.list({ includeArtifacts: true, historyLength: 100 });
    return tasks.filter(({ history = [] }) => history[0]?.referenceTaskIds?.includes(callerTaskId));
  }

  /** Whether it has a task that has not ended. */
  async isBusy(): Promise<boolean> {
    const remote = await this.client();
    const open = OPEN.map((state) => remote.list({ state, pageSize: 1 }));
    return (await Promise.all(open)).some(({ totalSize }) => totalSize > 0);
  }

  /** Ends its process, and returns what it stored. */
  stored(): Promise<readonly StoredTask[]> {
    return this.#server.stored();
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #settings(): TreeSettings {
    const { subAgents = {}, allowsCycles = false } = this.#options;
    return {
      name: this.name,
      port: this.#port,
      folder: this.#server.data,
      notes: this.notesFile,
      subAgents,
      allowsCycles,
    };
  }
}
