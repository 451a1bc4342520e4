import { type RemoteAgent, connect } from "@convoke/client";
import { EXTENSIONS, type Task } from "@convoke/protocol";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Directory } from "../crash/caller.ts";
import { ScriptProcess } from "../crash/script-process.ts";
import { type StoredTask, readStoredTasks } from "../crash/stored-logs.ts";
import { keptPort } from "../kept-port.ts";
import { type Note, Notes } from "./notes.ts";
import type { TreeSettings } from "./tree-settings.ts";

type TreeAgentOptions = Partial<Pick<TreeSettings, "subAgents" | "allowsCycles" | "port">>;

const OPEN = ["submitted", "working", "input-required", "auth-required"] as const;

/** An agent in a process of its own, which can be killed and started again, at the same address. */
export class TreeAgent implements Directory {
  readonly name: string;
  /** Everything that its processes leave behind. */
  readonly folder = mkdtempSync(join(tmpdir(), "convoke-tree-"));
  readonly #data = join(this.folder, "data");
  readonly notesFile = join(this.folder, "notes");
  readonly #notes = new Notes(this.notesFile);
  readonly #options: TreeAgentOptions;
  #port: number;
  #process: ScriptProcess | undefined;
  #complaints = "";
  #client: Promise<RemoteAgent> | undefined;

  constructor(name: string, options: TreeAgentOptions = {}) {
    this.name = name;
    this.#options = options;
    this.#port = options.port ?? 0;
  }

  get address(): string {
    return `http://127.0.0.1:${this.#port}/`;
  }

  /** What it did in all its lives. */
  get notes(): readonly Note[] {
    return this.#notes.all();
  }

  /** Everything that its processes complained about. */
  get complaints(): string {
    return this.#complaints + (this.#process?.stderr ?? "");
  }

  /** Its address; whoever asks does not wait for its process. */
  async url(): Promise<string> {
    return this.address;
  }

  async start(): Promise<void> {
    const { name } = this;
    this.#port ||= await keptPort();
    const { subAgents = {}, allowsCycles = false } = this.#options;
    const settings: TreeSettings = {
      name,
      port: this.#port,
      folder: this.#data,
      notes: this.notesFile,
      subAgents,
      allowsCycles,
    };
    this.#process = new ScriptProcess(new URL("./tree-process.ts", import.meta.url), {
      CONVOKE_TREE: JSON.stringify(settings),
    });
    await this.#process.greeting;
  }

  /** As `kill -9` does. */
  async kill(): Promise<void> {
    const killed = this.#process;
    this.#process = undefined;
    await killed?.kill();
    this.#complaints += killed?.stderr ?? "";
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** Somebody who speaks to it and reads data, in all its lives. */
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

  /** What is stored, while it is not up. */
  stored(): Promise<readonly StoredTask[]> {
    return readStoredTasks(this.#data);
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
