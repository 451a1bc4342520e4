/**
 * Writes the data folders that `upgrade.test.ts` opens: starts the agents of `agents.ts`, brings
 * one task of each kind to where `cases.ts` says, and kills the processes with SIGKILL.
 *
 * A fixture belongs to the commit that wrote it and is never written again: what it proves is that
 * later code can read what earlier code has left. For a fixture of another commit, check that commit
 * out, copy this folder into it if it has none, and run
 *
 *     npx node --conditions=@convoke/source test/upgrade/write-fixture.ts test/upgrade/data-<commit>
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { randomUUID } from "node:crypto";
import { ScriptProcess } from "../harness/script-process.ts";
import { keptPort } from "../harness/kept-port.ts";
import type { AgentName, Effect } from "./agents.ts";
import { Caller, type Frame, messageFrom } from "./caller.ts";
import { CASES, type CaseName, type Facts, type RecordedTask } from "./cases.ts";
import type { ServeSettings } from "./serve-process.ts";
import { Webhook } from "./webhook.ts";

const CLIENT_TOOLS = "https://convoke.dev/extensions/client-tools/v1";
const WITHIN_MS = 20_000;
/**
 * A step is in the log before its body runs, and a notification is accepted before its cursor
 * moves.
 */
const SETTLE_MS = 300;

/** One agent in its own process. */
class Served {
  readonly name: AgentName;
  readonly folder: string;
  readonly #effectsFile: string;
  readonly #process: ScriptProcess;

  constructor(name: AgentName, root: string, flightsUrl = "") {
    this.name = name;
    this.folder = join(root, name);
    this.#effectsFile = join(root, `${name}-effects`);
    writeFileSync(this.#effectsFile, "");
    const { folder } = this;
    const settings: ServeSettings = {
      agent: name,
      folder,
      effectsFile: this.#effectsFile,
      flightsUrl,
    };
    this.#process = new ScriptProcess(new URL("./serve-process.ts", import.meta.url), {
      CONVOKE_FIXTURE: JSON.stringify(settings),
    });
  }

  get url(): Promise<string> {
    return this.#process.ready;
  }

  get effects(): readonly Effect[] {
    const lines = readFileSync(this.#effectsFile, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Effect);
  }

  /**
   * Waits until the stored log of a task contains a text: what is not stored is not in the fixture.
   */
  async until(taskId: string, text: string): Promise<void> {
    const end = Date.now() + WITHIN_MS;
    while (!this.storedLog(taskId).includes(text)) {
      if (Date.now() > end) throw new Error(`${text} is not in ${this.storedLog(taskId)}`);
      await sleep(20);
    }
  }

  storedLog(taskId: string): string {
    using db = new DatabaseSync(join(this.folder, "tasks.db"), { readOnly: true });
    const rows = db
      .prepare("SELECT body FROM segments JOIN tasks ON task = n WHERE task_id = ? ORDER BY last")
      .all(taskId);
    return rows.map(({ body }) => String(body)).join("\n");
  }

  async kill(): Promise<void> {
    await this.#process.kill();
  }
}

/** A task on its way to the point where it is killed. */
class Begun {
  readonly name: CaseName;
  readonly messageId: string = randomUUID();
  readonly frames: Frame[] = [];
  readonly #server: Served;
  #caller: Caller | undefined;

  constructor(name: CaseName, server: Served) {
    this.name = name;
    this.#server = server;
  }

  get taskId(): string {
    const { result } = this.frames[0]!;
    return String(result["id"]);
  }

  async start(hookUrl: string): Promise<void> {
    const { text, tools, pushTo, cancel, until } = CASES[this.name];
    const caller = (this.#caller = new Caller(await this.#server.url));
    const metadata = tools && { [CLIENT_TOOLS]: { tools } };
    const message = messageFrom(text, { messageId: this.messageId, ...(metadata && { metadata }) });
    const pushNotificationConfig = { url: `${hookUrl}${pushTo}`, token: `token of ${this.name}` };
    const configuration = pushTo && { pushNotificationConfig };
    const params = { message, ...(configuration && { configuration }) };
    // The kill breaks the streams of tasks in progress.
    this.#read(caller.stream(params)).catch(() => undefined);
    while (this.frames.length < 2) await sleep(10);
    const canceled = cancel && caller.rpc("tasks/cancel", { id: this.taskId });
    canceled?.catch(() => undefined);
    await this.#server.until(this.taskId, until);
  }

  async #read(stream: AsyncIterable<Frame>): Promise<void> {
    for await (const frame of stream) this.frames.push(frame);
  }

  /** Everything that the test compares with. */
  async record(): Promise<RecordedTask> {
    const { taskId, messageId, frames } = this;
    const snapshot = await this.#caller!.get(taskId);
    const snapshotV1 = await this.#caller!.getV1(taskId);
    return { taskId, contextId: snapshot.contextId, messageId, frames, snapshot, snapshotV1 };
  }

  /** A cancel in progress completes after half a second, so the kill comes earlier. */
  get isHasty(): boolean {
    return CASES[this.name].cancel === "cut";
  }
}

async function write(target: string): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), "convoke-fixture-"));
  const hookPort = await keptPort();
  await using webhook = await Webhook.listen(hookPort, (path) => path === "/early");
  const flights = new Served("flights", root);
  const planner = new Served("planner", root, await flights.url);
  const servers = { clerk: new Served("clerk", root), copyist: new Served("copyist", root) };
  const all = { ...servers, flights, planner };

  const begun = (Object.keys(CASES) as CaseName[]).map(
    (name) => new Begun(name, all[CASES[name].agent]),
  );
  const hookUrl = `http://127.0.0.1:${hookPort}`;
  const tasks: Partial<Record<CaseName, RecordedTask>> = {};
  await Promise.all(begun.filter(({ isHasty }) => !isHasty).map((one) => one.start(hookUrl)));
  await sleep(SETTLE_MS);
  for (const one of begun.filter(({ isHasty }) => !isHasty)) tasks[one.name] = await one.record();
  for (const one of begun.filter(({ isHasty }) => isHasty)) {
    await one.start(hookUrl);
    tasks[one.name] = await one.record();
  }
  // The caller first, so that it does not see its sub-agent disappear.
  for (const server of [servers.clerk, planner, flights, servers.copyist]) await server.kill();

  for (const one of begun) checkNotEnded(one, all[CASES[one.name].agent]);
  const effects = Object.values(all).flatMap((one) => one.effects);
  const arrivals = webhook.received.map(({ path, webhookId, token }) => ({
    path,
    webhookId,
    token,
  }));
  save(target, Object.values(all), { hookPort, arrivals, effects, tasks: tasks as Facts["tasks"] });
  rmSync(root, { recursive: true });
}

/** The sleep must not be over, and the cancel not complete, when the process is killed. */
function checkNotEnded({ name, taskId }: Begun, server: Served): void {
  const log = server.storedLog(taskId);
  if (name === "napping" && log.includes("internal:woken")) throw new Error("the nap is over");
  if (name === "canceling" && log.includes('"canceled"')) throw new Error("the cancel is done");
}

function save(target: string, servers: readonly Served[], facts: Facts): void {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  for (const { name, folder } of servers) {
    // SQLite recreates the shared memory of its write-ahead log.
    const filter = (file: string): boolean => !file.endsWith("-shm");
    cpSync(folder, join(target, name), { recursive: true, filter });
  }
  for (const folder of CHECKPOINTED) checkpoint(join(target, folder, "tasks.db"));
  writeFileSync(join(target, "facts.json"), `${JSON.stringify(facts)}\n`);
}

/**
 * A write-ahead log is several times as large as its database; the copy keeps the one that the kill
 * left.
 */
const CHECKPOINTED = ["clerk", "flights", "planner", join("planner", "agents", "hotels")];

/** The last connection that closes moves the write-ahead log into the database. */
function checkpoint(file: string): void {
  const db = new DatabaseSync(file);
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
}

const [, , target] = process.argv;
if (target === undefined) throw new Error("usage: write-fixture.ts <folder>");
await write(resolve(target));
