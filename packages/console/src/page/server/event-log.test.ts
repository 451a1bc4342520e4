import {
  type AgentEvent,
  type ArtifactUpdateEvent,
  type Task,
  applyEvent,
  textOfParts,
} from "@convoke/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EventLog, type LoggedEvent, PAGE_LENGTH, pageOf } from "./event-log.ts";

const TASK: Task = {
  kind: "task",
  id: "t",
  contextId: "c",
  status: { state: "submitted" },
};

const IDS = { taskId: "t", contextId: "c" } as const;

function chunk(text: string, artifactId = "a"): AgentEvent {
  const artifact = { artifactId, parts: [{ kind: "text" as const, text }] };
  return { kind: "artifact-update", ...IDS, artifact, append: true };
}

/** A log of 3.5 pages: mostly chunks, sometimes a message or a status. */
const EVENTS: readonly AgentEvent[] = Array.from({ length: 3500 }, (_, place): AgentEvent => {
  if (place === 0) return TASK;
  if (place % 700 === 0) {
    const status = { state: "working" as const, timestamp: `at ${place}` };
    return { kind: "status-update", ...IDS, status, final: false };
  }
  if (place % 450 === 0) {
    const parts = [{ kind: "text" as const, text: `answer ${place}` }];
    const message = {
      kind: "message" as const,
      messageId: `m${place}`,
      role: "user" as const,
      parts,
    };
    return { kind: "internal:message", taskId: "t", message, timestamp: `at ${place}` };
  }
  return chunk(`${place} `, place % 3000 < 1500 ? "a" : "b");
});

/** The task after each event, by applying all events before it. */
const TASKS: Task[] = [];
for (const event of EVENTS) TASKS.push(applyEvent(TASKS.at(-1), event));

/** What the server sends as a page, with consecutive chunks joined if that is asked for. */
function pageAt(number: number, isJoined: boolean): Parameters<EventLog["setPage"]>[1] {
  const start = number * PAGE_LENGTH;
  const entries = EVENTS.slice(start, start + PAGE_LENGTH).map((event, place): LoggedEvent => ({
    from: start + place + 1,
    seq: start + place + 1,
    event,
  }));
  const events = isJoined ? join(entries) : entries;
  return { events, last: entries.at(-1)!.seq, isJoined };
}

function join(entries: readonly LoggedEvent[]): LoggedEvent[] {
  const joined: LoggedEvent[] = [];
  for (const entry of entries) {
    const last = joined.at(-1);
    const [before, after] = [textOf(last?.event), textOf(entry.event)];
    if (last && before?.id === after?.id && before && after) {
      joined[joined.length - 1] = {
        ...entry,
        from: last.from,
        event: chunk(before.text + after.text, after.id),
      };
    } else joined.push(entry);
  }
  return joined;
}

function textOf(event: AgentEvent | undefined): { id: string; text: string } | undefined {
  if (event?.kind !== "artifact-update") return undefined;
  const { artifact } = event as ArtifactUpdateEvent;
  return { id: artifact.artifactId, text: textOfParts(artifact.parts) };
}

function plain(task: Task | undefined): unknown {
  return task && JSON.parse(JSON.stringify(task));
}

const ORDER = fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 });

describe("the log of a task in the page", () => {
  test("has the task after any event that the events up to there make, in whatever order pages arrive", () => {
    const positions = fc.array(fc.integer({ min: 1, max: EVENTS.length }), { minLength: 3 });
    fc.assert(
      fc.property(
        ORDER,
        positions,
        fc.array(fc.boolean(), { minLength: 4 }),
        (order, at, joins) => {
          const log = new EventLog();
          for (const number of order) {
            log.setPage(number, pageAt(number, joins[number]!));
            for (const seq of at) {
              const task = log.taskAt(seq);
              if (task !== undefined) expect(plain(task)).toEqual(plain(TASKS[seq - 1]));
            }
          }
          for (const seq of at) {
            const number = pageOf(seq);
            log.setPage(number, pageAt(number, false));
            expect(plain(log.taskAt(seq))).toEqual(plain(TASKS[seq - 1]));
          }
        },
      ),
      { numRuns: 10 },
    );
  });

  test("goes on from a task that the server has sent, without the pages before it", () => {
    const log = new EventLog();
    log.setPage(3, pageAt(3, false));
    expect(log.taskAt(3200)).toBeUndefined();

    log.setTask(3000, TASKS[2999]!);

    expect(plain(log.taskAt(3200))).toEqual(plain(TASKS[3199]));
  });

  test("does not guess what a task was between chunks that are joined", () => {
    const log = new EventLog();
    log.setPage(0, pageAt(0, true));

    expect(log.taskAt(100)).toBeUndefined();
    expect(plain(log.taskAt(450))).toEqual(plain(TASKS[449]));
  });

  test("names the events between loaded pages that are missing", () => {
    const log = new EventLog();
    log.setPage(0, pageAt(0, true));
    log.setPage(3, pageAt(3, false));

    const gaps = [...log.upTo(3500)].filter((entry) => "to" in entry);

    expect(gaps).toEqual([{ from: 1001, to: 3000 }]);
  });

  test("takes live events after its last page, also at the beginning of a new one", () => {
    const log = new EventLog();
    log.setPage(0, pageAt(0, false));
    for (let seq = 1001; seq <= 1003; seq++) {
      log.append({ from: seq, seq, event: EVENTS[seq - 1]! });
    }

    expect(log.head).toBe(1003);
    expect(plain(log.taskAt(1003))).toEqual(plain(TASKS[1002]));
  });
});
