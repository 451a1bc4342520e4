import { createMemoryBackend } from "@convoke/engine/memory";
import { recover } from "@convoke/engine";
import {
  type Agent,
  type AgentEvent,
  type Task,
  type Turn,
  textOf,
  textPart,
} from "@convoke/protocol";
import { expect, test } from "vitest";
import { anAgentInfo } from "../../packages/server/src/cards/an-agent-info.suite.ts";
import { CALLER, anEngine, tell } from "./an-engine.ts";

const POSITION = "internal:acme-import/position";

const LINES = ["one", "two", "three"];

/** Imports lines and records its position in an event of its own. It never starts over. */
class Importer implements Agent {
  readonly info = anAgentInfo({ name: "Importer", restart: false });
  readonly imported: string[] = [];
  readonly #crashesAt: number | undefined;
  readonly #resumable: boolean;

  constructor(options: { readonly crashesAt?: number; readonly resumable: boolean }) {
    this.#crashesAt = options.crashesAt;
    this.#resumable = options.resumable;
  }

  async *run({ task, journal, durable }: Turn): AsyncGenerator<AgentEvent> {
    const { id: taskId, contextId } = task;
    const last = journal.findLast(({ kind }) => kind === POSITION);
    for (let line = Number(last?.["line"] ?? 0); line < LINES.length; line++) {
      // A crashed process emits nothing more.
      if (line === this.#crashesAt) await new Promise(() => undefined);
      this.imported.push(LINES[line]!);
      yield { kind: POSITION, taskId, line: line + 1, ...(this.#resumable && { resumable: true }) };
      await durable();
    }
    const artifact = { artifactId: "report", parts: [textPart("imported")] };
    yield { kind: "artifact-update", taskId, contextId, artifact, lastChunk: true };
  }
}

/** An import that crashes before its third line, and its continuation in a second process. */
async function importWithCrash(resumable: boolean) {
  const backend = createMemoryBackend();
  const first = new Importer({ crashesAt: 2, resumable });
  const { live } = await tell(anEngine(first, backend), "import");
  await expect.poll(() => first.imported).toEqual(["one", "two"]);
  // The position is committed before the next line is imported.
  await expect.poll(async () => (await backend.read(live.task.id, 0, 100)).length).toBe(4);

  const second = new Importer({ resumable });
  const engine = anEngine(second, backend);
  const recovered = await recover(engine);
  const restored = await engine.tasks.openFor(CALLER, live.task.id);
  await restored.until(({ task }) => isOver(task));
  return { recovered, imported: second.imported, task: restored.task };
}

function isOver({ status }: Task): boolean {
  return status.state === "completed" || status.state === "failed";
}

test("a hand-written agent resumes after a restart from an event of its own", async () => {
  const { recovered, imported, task } = await importWithCrash(true);

  expect(recovered).toMatchObject({ resumed: 1, ended: 0, waiting: 0 });
  expect(imported).toEqual(["three"]);
  expect(task.status.state).toBe("completed");
  expect(textOf(task)).toBe("imported");
});

test("without a resumable event the same task fails as interrupted", async () => {
  const { recovered, imported, task } = await importWithCrash(false);

  expect(recovered).toMatchObject({ resumed: 0, ended: 1, waiting: 0 });
  expect(imported).toEqual([]);
  expect(task.status.state).toBe("failed");
});
