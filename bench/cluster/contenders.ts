import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { SendMessageRequest, type StreamResponse } from "a2a-sdk-v1";
import { ClientFactory } from "a2a-sdk-v1/client";
import { type RemoteAgent, connect } from "convoke";
import { installProject } from "../../test/harness/install-project.ts";
import { Program } from "../../test/harness/running-program.ts";

export const CHUNKS = 40;
const PAUSE_MS = 100;
/** How long a client that is not resumed by its library subscribes again and again. */
const PATIENCE_MS = 15_000;

/** What a client receives of a task that counts. */
export interface Received {
  /** The numbers of the chunks that arrived as events, in the order of arrival. */
  readonly chunks: number[];
  /** The numbers in the task as a whole, which a stream can begin with. */
  readonly snapshot: Set<number>;
  taskId?: string;
  /** What the client had to do after its connection was lost. */
  recovery: string;
}

/** An implementation with its own client. */
export interface Contender {
  readonly name: string;
  /** The name of its database. */
  readonly database: string;
  prepare(databaseUrl: string): Promise<void>;
  startReplica(databaseUrl: string, publicUrl: string): Program;
  /** Sends a message and follows the task, also after the connection was lost. */
  follow(url: string, received: Received): Promise<void>;
  /** Follows a task that another client began. */
  subscribe(url: string, taskId: string, received: Received): Promise<void>;
}

export const CONVOKE: Contender = {
  name: "Convoke",
  database: "compare_cluster_convoke",
  prepare: async () => undefined,
  startReplica: (databaseUrl, publicUrl) => {
    const script = fileURLToPath(new URL("convoke-replica.ts", import.meta.url));
    return startNode(["--conditions=@convoke/source", script], databaseUrl, publicUrl);
  },
  follow: async (url, received) => {
    received.recovery = "none was needed";
    const onNotice = ({ kind }: { readonly kind: string }): void => {
      if (kind === "resumed") received.recovery = "its library resumes after the last event";
    };
    await readRun((await connect(url)).stream("count", { onNotice }), received);
  },
  subscribe: async (url, taskId, received) => {
    await readRun((await connect(url)).subscribe(taskId), received);
  },
};

async function readRun(run: ReturnType<RemoteAgent["stream"]>, received: Received): Promise<void> {
  for await (const event of run) {
    received.taskId ??= run.taskId!;
    if (event.kind === "artifact-update") received.chunks.push(...numbersIn(event.artifact));
    if (event.kind === "task") for (const one of numbersIn(event)) received.snapshot.add(one);
  }
}

export const SDK: Contender = {
  name: "@a2a-js/sdk 1.3.0",
  database: "compare_cluster_sdk",
  prepare: async (databaseUrl) => {
    await installProject(SDK_FOLDER);
    const program = `${SDK_FOLDER}/node_modules/.bin/a2a-db`;
    const { code, stderr } = await new Program(program, ["upgrade", "--url", databaseUrl]).ended;
    if (code !== 0) throw new Error(stderr);
  },
  startReplica: (databaseUrl, publicUrl) =>
    startNode([`${SDK_FOLDER}/replica.js`], databaseUrl, publicUrl),
  follow: async (url, received) => {
    const client = await new ClientFactory().createFromUrl(url);
    const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "count" }] };
    const stream = client.sendMessageStream(SendMessageRequest.fromJSON({ message }));
    received.recovery = "none was needed";
    const error = await readSdk(stream, received);
    if (error === undefined) return;
    const until = Date.now() + PATIENCE_MS;
    let attempts = 0;
    while (Date.now() < until) {
      attempts++;
      await readSdk(client.resubscribeTask({ tenant: "", id: received.taskId! }), received);
      await sleep(1000);
    }
    received.recovery = `an error; the program called resubscribeTask ${attempts} times in ${PATIENCE_MS / 1000} s`;
  },
  subscribe: async (url, taskId, received) => {
    const client = await new ClientFactory().createFromUrl(url);
    await readSdk(client.resubscribeTask({ tenant: "", id: taskId }), received);
  },
};

const SDK_FOLDER = fileURLToPath(new URL("../sdk", import.meta.url));

/** The error that ended the stream. */
async function readSdk(
  stream: AsyncIterable<StreamResponse>,
  received: Received,
): Promise<unknown> {
  try {
    for await (const { payload } of stream) {
      if (payload?.$case === "task") {
        received.taskId ??= payload.value.id;
        for (const one of numbersIn(payload.value.artifacts)) received.snapshot.add(one);
      }
      if (payload?.$case === "artifactUpdate") {
        received.chunks.push(...numbersIn(payload.value.artifact));
      }
    }
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The agents write a number and a space for each chunk. */
function numbersIn(value: unknown): readonly number[] {
  return [...JSON.stringify(value ?? null).matchAll(/(\d+) /g)].map(([, digits]) => Number(digits));
}

function startNode(args: readonly string[], databaseUrl: string, publicUrl: string): Program {
  const env = {
    DATABASE_URL: databaseUrl,
    PUBLIC_URL: publicUrl,
    CHUNKS: String(CHUNKS),
    PAUSE_MS: String(PAUSE_MS),
  };
  return new Program(process.execPath, args, { env, stdin: "pipe", timeoutMs: 0 });
}
