import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { createS3BlobStore } from "@convoke/backends/files";
import { openPostgresBackend, subAgentUrl } from "@convoke/backends/postgres";
import { RemoteAgent } from "@convoke/client/connection";
import type { Agent, Connection, LocalAgent, Task } from "@convoke/protocol";
import {
  type BlobStore,
  type ServeAgentOptions,
  connect,
  createFolderBlobStore,
  defineAgent,
  serve,
} from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { KEYS, REGION, S3Server } from "../../packages/backends/src/files/s3-server.suite.ts";
import { contentOf } from "../../packages/backends/src/transfer/content-of.suite.ts";
import { memoryLogger } from "../engine/an-engine.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { CONTENT, DIGEST, LARGE, aFileMessage, copier, fileIn } from "./a-file.ts";

/** A liveness bound for a slow machine. */
const WAIT = { timeout: 20_000 };

/** A server whose agent lets a sub-agent copy the file that it gets, and returns the copy. */
class Relay {
  /** The tasks of the sub-agent. */
  readonly children: string[] = [];
  readonly agent: Agent;
  url = "";
  #beside: Promise<LocalAgent> | undefined;

  constructor() {
    const { children } = this;
    const connect = () => this.#connect();
    const agent = defineAgent({
      name: "Relay",
      description: "Passes on files.",
      inputModes: ["*/*"],
      outputModes: ["*/*"],
      async *run({ task, artifact }) {
        const message = aFileMessage(CONTENT, { referenceTaskIds: [task.id] });
        const sent = await (await connect()).call("sendMessage", { message, blocking: true });
        const { id, artifacts } = sent as Task;
        children.push(id);
        yield artifact("relayed", [fileIn(artifacts?.[0]?.parts)]);
      },
    });
    this.agent = {
      ...agent,
      run: (turn) => agent.run(turn),
      prepare: (environment) => {
        agent.prepare?.(environment);
        this.#beside = environment.runBeside?.("copier", copier);
      },
      erase: async (scope) => (await this.#beside)?.erase(scope),
      [Symbol.asyncDispose]: async () => (await this.#beside)?.[Symbol.asyncDispose](),
    };
  }

  /** Serves it until the test ends. */
  async serve(options: ServeAgentOptions): Promise<() => Promise<void>> {
    const server = await serve(this.agent, { port: 0, logger: memoryLogger(), ...options });
    onTestFinished(() => server.close());
    this.url = server.url;
    return () => server.close();
  }

  async send(contextId?: string): Promise<Task> {
    const answer = await fetch(this.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "message/send",
        params: { message: aFileMessage(CONTENT, contextId === undefined ? {} : { contextId }) },
      }),
    });
    return ((await answer.json()) as { readonly result: Task }).result;
  }

  /** The sub-agent, on behalf of the caller. */
  async child(): Promise<RemoteAgent> {
    return new RemoteAgent(await this.#connect());
  }

  get onlyChild(): string {
    const [child, ...more] = this.children;
    if (child === undefined || more.length > 0) throw new Error(`${this.children.length} tasks`);
    return child;
  }

  async #connect(): Promise<Connection> {
    return (await this.#beside!).connect({ owner: "anonymous" });
  }
}

/** Late enough for an answer to be sent before its task is removed. */
const SOON = { maxAgeMs: 1500, everyMs: 50 };

interface Place {
  readonly store: BlobStore;
  /** The names of all contents. */
  readonly names: () => readonly string[];
}

async function aFolder(): Promise<Place> {
  const folder = temporaryFolder();
  return { store: createFolderBlobStore(folder), names: () => namesIn(folder) };
}

function namesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .toSorted();
}

async function aBucket(): Promise<Place> {
  const server = new S3Server();
  const endpoint = await server.start();
  onTestFinished(() => server.close());
  const store = createS3BlobStore({ bucket: "files", region: REGION, endpoint, ...KEYS });
  return { store, names: () => [...server.objects.keys()].toSorted() };
}

describe("sub-agents with their tasks in a database", () => {
  const address = needsPostgres();
  const schemaIn = (url: string) => new URL(url).searchParams.get("schema");

  const PLACES: readonly [string, () => Promise<Place>][] = [
    ["a folder", aFolder],
    ["an object store", aBucket],
  ];

  test.each(PLACES)(
    "keep large files in a place of their own in %s, and callers get links and ranges",
    async (_name, open) => {
      const [database, { store, names }] = [await address(), await open()];
      const relay = new Relay();
      const files = { store, show: "links" } as const;
      const close = await relay.serve({ database, files });

      const task = await relay.send();

      const child = relay.onlyChild;
      expect(names()).toEqual(
        [`${task.id}/${DIGEST}`, `agents.d/${schemaIn(database)}_copier/${child}/${DIGEST}`].sort(),
      );
      const link = fileIn(task.artifacts?.[0]?.parts).file.uri ?? "";
      const range = await fetch(link, { headers: { range: "bytes=10-99" } });
      expect(CONTENT.subarray(10, 100).equals(await range.bytes())).toBe(true);
      await close();
      for (const url of [database, subAgentUrl(database, "copier")]) {
        const backend = await openPostgresBackend({ url });
        const [stored] = await contentOf(backend);
        await backend.close();
        expect(JSON.stringify(stored).length, url).toBeLessThan(LARGE / 2);
      }

      // Another process finds the file.
      const next = new Relay();
      await next.serve({ database, files });
      const copy = fileIn((await (await next.child()).get(child)).artifacts?.[0]?.parts);
      expect(copy.file.bytes).toBe(CONTENT.toString("base64"));
    },
  );

  test.each(PLACES)(
    "leave none of their files in %s when a conversation or an owner is erased",
    async (_name, open) => {
      const [database, { store, names }] = [await address(), await open()];
      const relay = new Relay();
      await relay.serve({ database, files: { store } });
      const [one, two] = [await relay.send(), await relay.send()];

      await runCli(["erase", relay.url, "--context", one.contextId, "--yes"]);
      const left = names();
      await runCli(["erase", relay.url, "--owner", "anonymous", "--yes"]);

      const child = relay.children[1];
      const tasks = left.map((name) => name.split("/").at(-2));
      expect(new Set(tasks)).toEqual(new Set([two.id, child]));
      expect(names()).toEqual([]);
    },
  );

  test("are backed up and restored with their large files, and moved with them to a database", async () => {
    const [from, copy, to] = ["from", "copy", "to"].map((name) => join(temporaryFolder(), name));
    const relay = new Relay();
    const close = await relay.serve({ data: from! });
    await relay.send();
    const child = relay.onlyChild;
    expect(await runCli(["backup", from!, copy!])).toMatchObject({ code: 0 });
    await close();
    expect(await runCli(["restore", copy!, to!])).toMatchObject({ code: 0 });
    const stored = join(to!, "agents/copier/files", child, DIGEST);
    expect(CONTENT.equals(readFileSync(stored))).toBe(true);

    const [database, files] = [await address(), temporaryFolder()];
    const moved = await runCli(["migrate", to!, database, "--files", files]);

    expect(moved.stderr).toContain("Moved 2 tasks.");
    expect(namesIn(files)).toHaveLength(2);
    const next = new Relay();
    await next.serve({ database, files: { store: createFolderBlobStore(files) } });
    const found = fileIn((await (await next.child()).get(child)).artifacts?.[0]?.parts);
    expect(found.file.bytes).toBe(CONTENT.toString("base64"));
  });

  test("leave no files of tasks that are deleted in their schema", async () => {
    const [database, files] = [await address(), temporaryFolder()];
    const relay = new Relay();
    await relay.serve({ database, files: { store: createFolderBlobStore(files) } });
    const { id } = await relay.send();
    const schema = `${schemaIn(database)}_copier`;
    const inSchema = new URL(database);
    inSchema.searchParams.set("schema", schema);
    const remove = (taskId: string, data: string) =>
      runCli(["tasks", "delete", taskId, "--data", data, "--yes"], {
        env: { CONVOKE_FILES: files },
      });

    await remove(id, database);
    const left = namesIn(files);
    await remove(relay.onlyChild, inSchema.href);

    expect(left).toEqual([`agents.d/${schema}/${relay.onlyChild}/${DIGEST}`]);
    expect(namesIn(files)).toEqual([]);
  });

  test("two agents of a host with sub-agents in one schema find each other's files", async () => {
    const [database, { store, names }] = [await address(), await aFolder()];
    const [relay, other] = [new Relay(), new Relay()];
    const second: Agent = { ...other.agent, info: { ...other.agent.info, name: "Second" } };
    await using server = await serve([relay.agent, second], {
      port: 0,
      database,
      files: { store },
      logger: memoryLogger(),
    });
    relay.url = server.url;

    await relay.send();

    const child = relay.onlyChild;
    const copy = fileIn((await (await other.child()).get(child)).artifacts?.[0]?.parts);
    expect(copy.file.bytes).toBe(CONTENT.toString("base64"));
    expect(names()).toContain(`agents.d/${schemaIn(database)}_copier/${child}/${DIGEST}`);
  });
});

const STORAGES: readonly [
  string,
  (address: () => Promise<string>) => Promise<ServeAgentOptions>,
][] = [
  ["SQLite", async () => ({ data: temporaryFolder() })],
  ["Postgres", async (address) => ({ database: await address() })],
];

describe.each(STORAGES)("a sub-agent on %s", (_name, where) => {
  const address = needsPostgres();

  test("removes ended tasks and their files as its server does", async () => {
    const { store, names } = await aFolder();
    const relay = new Relay();
    const storage = await where(address);
    const retention = SOON;
    await relay.serve({ ...storage, files: { store }, retention });

    await relay.send();

    const { data } = storage;
    const stored = () => [...names(), ...(data === undefined ? [] : namesIn(join(data, "agents")))];
    await expect.poll(() => stored().filter((name) => name.endsWith(DIGEST)), WAIT).toEqual([]);
    const child = relay.onlyChild;
    await expect((await relay.child()).get(child)).rejects.toThrow("not found");
  });

  test("keeps its tasks at the age that its server has for it", async () => {
    const relay = new Relay();
    const agents = { copier: { maxAgeMs: 24 * 60 * 60_000 } };
    const retention = { ...SOON, agents };
    await relay.serve({ ...(await where(address)), retention });

    const { id } = await relay.send();

    const remote = await connect(relay.url);
    const isGone = () =>
      remote.get(id).then(
        () => false,
        () => true,
      );
    await expect.poll(isGone, WAIT).toBe(true);
    expect((await (await relay.child()).get(relay.onlyChild)).status.state).toBe("completed");
  });

  test("keeps all files in the log if its server does", async () => {
    const { store, names } = await aFolder();
    const relay = new Relay();
    const storage = await where(address);
    await relay.serve({ ...storage, files: { store, storeAbove: 0 } });

    await relay.send();

    const { data } = storage;
    const stored = [...names(), ...(data === undefined ? [] : namesIn(join(data, "agents")))];
    expect(stored.filter((name) => name.endsWith(DIGEST))).toEqual([]);
    const child = relay.onlyChild;
    const copy = fileIn((await (await relay.child()).get(child)).artifacts?.[0]?.parts);
    expect(copy.file.bytes).toBe(CONTENT.toString("base64"));
  });
});
