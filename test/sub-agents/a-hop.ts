import { type RemoteAgent, connect } from "@convoke/client";
import { EXTENSIONS, type Task } from "@convoke/protocol";
import { type ModelAgentDefinition, type ModelRequest, defineAgent } from "@convoke/runtime";
import { type ScriptStep, type ScriptedModel, scriptedModel } from "@convoke/runtime/testing";
import { serve } from "convoke";
import { onTestFinished } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { keptPort } from "../harness/kept-port.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";

type Server = Awaited<ReturnType<typeof serve>>;

export interface HopOptions {
  readonly onDisk?: boolean;
  /** The address of a database with its tasks. */
  readonly database?: string;
}

/** An agent of a chain, on a real port. With its tasks on disk it can be stopped and restarted. */
export class Hop {
  readonly name: string;
  readonly folder: string | undefined;
  readonly logger = memoryLogger();
  readonly #database: string | undefined;
  readonly #define: () => Partial<ModelAgentDefinition>;
  readonly #clients: RemoteAgent[] = [];
  #server: Server | undefined;
  #port = 0;
  /** How often its model was called, over all its processes. */
  #asked = 0;

  constructor(
    name: string,
    define: () => Partial<ModelAgentDefinition>,
    { onDisk = false, database }: HopOptions = {},
  ) {
    this.#database = database;
    this.name = name;
    this.#define = define;
    this.folder = onDisk ? temporaryFolder() : undefined;
    onTestFinished(() => this.stop());
  }

  /** One that is already running. */
  static async started(
    name: string,
    define: () => Partial<ModelAgentDefinition>,
    options: HopOptions = {},
  ): Promise<Hop> {
    const hop = new Hop(name, define, options);
    await hop.start();
    return hop;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/`;
  }

  get asked(): number {
    return this.#asked;
  }

  async start(): Promise<void> {
    this.#port ||= await keptPort();
    const definition = this.#define();
    const given = definition.model as ScriptedModel;
    const model = {
      ...given,
      stream: (...request: Parameters<ScriptedModel["stream"]>) => {
        this.#asked += 1;
        return given.stream(...request);
      },
    };
    const agent = defineAgent({
      name: this.name,
      description: `The ${this.name}.`,
      ...definition,
      model,
    });
    const { logger, folder: data = "memory" } = this;
    const database = this.#database;
    this.#server = await serve(agent, { port: this.#port, data, database, logger });
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    // A server waits for clients that keep a connection to it.
    for (const client of this.#clients.splice(0)) client.close();
    await server?.close();
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** A client that calls it and supports data parts. */
  async client(): Promise<RemoteAgent> {
    const extensions = [EXTENSIONS.approvals.uri, EXTENSIONS.budget.uri];
    const remote = await connect(this.url, { extensions });
    this.#clients.push(remote);
    return remote;
  }

  /** All its tasks. */
  async tasks(): Promise<readonly Task[]> {
    const remote = await this.client();
    const { tasks } = await remote.list({ includeArtifacts: true, historyLength: 100 });
    return tasks;
  }

  /** The only one. */
  async task(): Promise<Task> {
    const tasks = await this.tasks();
    if (tasks.length !== 1) throw new Error(`${this.name} has ${tasks.length} tasks`);
    return tasks[0]!;
  }
}

/** A model that calls these tools in parallel, and then repeats their results. */
export function callsOnce(...wanted: readonly ScriptStep[]): ScriptedModel {
  return scriptedModel(
    Array.from({ length: 20 }, () => (request: ModelRequest) => {
      const told = request.transcript.findLast(({ role }) => role === "tool");
      return told?.role === "tool" ? `Told: ${JSON.stringify(told.results)}` : [...wanted];
    }),
  );
}

/** The tool results that the model of a finished task received, by tool name. */
export function toldIn(task: Task): readonly {
  readonly toolName: string;
  readonly output: Readonly<Record<string, unknown>> | string;
  readonly isError: boolean;
}[] {
  const text = (task.artifacts ?? [])
    .flatMap(({ parts }) => parts)
    .map((part) => (part.kind === "text" ? part.text : ""))
    .join("");
  return JSON.parse(text.slice(text.indexOf("Told: ") + 6)) as ReturnType<typeof toldIn>;
}
