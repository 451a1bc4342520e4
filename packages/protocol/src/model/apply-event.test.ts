import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { type AgentEvent, applyEvent } from "./events.ts";
import { type Message, agentMessage } from "./message.ts";
import { textPart } from "./part.ts";
import type { Task } from "./task.ts";
import {
  aChunk,
  aMessage,
  aStatusUpdate,
  aTask,
  anArtifactUpdate,
  eventsOfATask,
  internalEvents,
  jsonValues,
  modelOf,
  overTheWire,
  repeatedMessages,
  taskStates,
} from "../testing/arbitraries.suite.ts";

const { task: tasks } = modelOf("1.0");
const logs = fc.tuple(tasks, eventsOfATask).map(([task, events]) => [task, ...events]);

describe("the task built from a log", () => {
  verifies(["G2"], "a snapshot and what follows it give the same task as the whole log", () => {
    fc.assert(
      fc.property(logs, fc.nat(), (log, somewhere) => {
        const cut = 1 + (somewhere % log.length);

        const snapshot = overTheWire(fold(log.slice(0, cut))) as Task;
        const resumed = fold([snapshot, ...log.slice(cut)]);

        expect(resumed).toEqual(fold(log));
      }),
    );
  });

  test("the same log always gives the same task, and applying it does not change it", () => {
    fc.assert(
      fc.property(logs, (log) => {
        const before = JSON.stringify(log);
        deepFreeze(log);

        const first = fold(log);
        const second = fold(log);

        expect(second).toEqual(first);
        expect(JSON.stringify(log)).toBe(before);
      }),
    );
  });

  test("a task is never changed by the next event", () => {
    fc.assert(
      fc.property(logs, (log) => {
        const task = log.reduce<Task | undefined>(
          (folded, event) => deepFreeze(applyEvent(folded, event)),
          undefined,
        );

        expect(task).toEqual(fold(log));
      }),
    );
  });

  test("a log starts with its task", () => {
    expect(applyEvent(undefined, aTask())).toEqual(aTask());
    expect(() => applyEvent(undefined, aStatusUpdate("working"))).toThrow(
      "a log must begin with a task, not with status-update",
    );
    expect(() => applyEvent(undefined, { kind: "internal:woken", taskId: "t1" })).toThrow(
      "a log must begin with a task, not with internal:woken",
    );
  });

  test("a whole task replaces the earlier state", () => {
    fc.assert(
      fc.property(logs, tasks, (log, task) => {
        expect(fold([...log, task])).toEqual(task);
      }),
    );
  });

  test("twenty thousand chunks are one text", () => {
    const chunks = Array.from({ length: 20_000 }, (_, number) => aChunk(`${number} `));

    const task = fold([aTask(), ...chunks]);

    const text = Array.from({ length: 20_000 }, (_, number) => `${number} `).join("");
    expect(task.artifacts).toEqual([{ artifactId: "a1", parts: [textPart(text)] }]);
  });
});

describe("artifacts", () => {
  test("chunks of plain text become one part, in order and complete", () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (texts) => {
        const task = fold([aTask(), ...texts.map(aChunk)]);

        expect(task.artifacts).toEqual([{ artifactId: "a1", parts: [textPart(texts.join(""))] }]);
      }),
    );
  });

  test("appended parts follow the earlier ones; nothing is lost", () => {
    const { part } = modelOf("1.0");
    const batches = fc.array(fc.array(part, { minLength: 1, maxLength: 3 }), { minLength: 1 });
    fc.assert(
      fc.property(batches, (appends) => {
        const updates = appends.map((parts) => anArtifactUpdate(parts, { append: true }));

        const folded = fold([aTask(), ...updates]).artifacts?.[0]?.parts ?? [];

        // Only the boundaries between plain texts are gone.
        expect(joinTexts(folded)).toEqual(joinTexts(appends.flat()));
      }),
    );
  });

  test("text that has a media type, a name or metadata stays a separate part", () => {
    const marked = { ...textPart("# title"), mediaType: "text/markdown" };
    const named = { ...textPart("name"), filename: "a.txt" };
    const noted = { ...textPart("noted"), metadata: {} };

    const task = fold([
      aTask(),
      ...[textPart("a"), marked, named, noted, textPart("b"), textPart("c")].map((part) =>
        anArtifactUpdate([part], { append: true }),
      ),
    ]);

    expect(task.artifacts?.[0]?.parts).toEqual([
      textPart("a"),
      marked,
      named,
      noted,
      textPart("bc"),
    ]);
  });

  test.each([false, undefined])(
    "an update with append %s replaces its artifact and leaves the others in place",
    (append) => {
      const artifacts = fc.constantFrom("a1", "a2", "a3", "a4");
      fc.assert(
        fc.property(logs, artifacts, jsonValues, (log, artifactId, data) => {
          const before = fold(log).artifacts ?? [];
          const artifact = { artifactId, parts: [{ kind: "data" as const, data }] };
          const update = anArtifactUpdate([], { artifact, ...(append === false && { append }) });

          const after = fold([...log, update]).artifacts ?? [];

          const place = before.findIndex((earlier) => earlier.artifactId === artifactId);
          expect(after).toEqual(
            place === -1 ? [...before, artifact] : before.with(place, artifact),
          );
        }),
      );
    },
  );

  test("the fields of a later chunk of an artifact win", () => {
    const described = { artifactId: "a1", name: "Report", parts: [textPart("b")] };

    const task = fold([
      aTask(),
      aChunk("a"),
      anArtifactUpdate([], { artifact: described, append: true }),
    ]);

    expect(task.artifacts).toEqual([{ ...described, parts: [textPart("ab")] }]);
  });
});

describe("statuses and messages", () => {
  test("extension metadata of the final status stays on the task, and no other status metadata does", () => {
    const report = { "https://example.com/report/v1": { used: 3 } };
    const metadata = { ...report, traceId: "abc" };
    const working = { ...aStatusUpdate("working"), metadata };
    const completed = { ...aStatusUpdate("completed"), metadata };

    expect(fold([aTask(), working]).metadata).toBeUndefined();
    expect(fold([aTask(), working, completed]).metadata).toEqual(report);
  });

  test("the last status is the status of the task", () => {
    fc.assert(
      fc.property(logs, taskStates, repeatedMessages, (log, state, message) => {
        const task = fold([...log, aStatusUpdate(state, message)]);

        expect(task.status).toEqual({ state, message });
      }),
    );
  });

  test("a superseded status message moves to the history, once per messageId", () => {
    fc.assert(
      fc.property(fc.array(repeatedMessages, { minLength: 1 }), (messages) => {
        const task = fold([
          aTask(),
          ...messages.map((message) => aStatusUpdate("working", message)),
        ]);

        expect(task.status.message).toEqual(messages.at(-1));
        expect(task.history ?? []).toEqual(oncePerId(messages.slice(0, -1)));
      }),
    );
  });

  test("a status message is also superseded by a status without one, and by a reply", () => {
    const said = agentMessage("m1", "looking");

    const silent = fold([aTask(), aStatusUpdate("working", said), aStatusUpdate("completed")]);
    const replied = fold([aTask(), aStatusUpdate("working", said), agentMessage("m2", "done")]);

    expect(silent.status).toEqual({ state: "completed" });
    expect(silent.history).toEqual([said]);
    expect(replied.history).toEqual([said]);
  });

  verifies(["R43"], "a single message can be the complete answer: it completes its task", () => {
    const reply = agentMessage("m1", "hello");

    const task = fold([aTask(), reply]);

    expect(task).toEqual(
      aTask({ status: { ...aTask().status, state: "completed", message: reply } }),
    );
  });

  test("messages to a task become its history, also those that use an id again", () => {
    fc.assert(
      fc.property(fc.array(repeatedMessages, { minLength: 1 }), (messages) => {
        const task = fold([aTask(), ...messages.map(received)]);

        expect(task).toEqual(aTask({ history: messages }));
      }),
    );
  });

  test("a question precedes its answer", () => {
    const question = agentMessage("m1", "which one?");
    const answer = aMessage({ messageId: "m2" });

    const task = fold([aTask(), aStatusUpdate("input-required", question), received(answer)]);
    const later = applyEvent(task, aStatusUpdate("working"));

    expect(task.history).toEqual([question, answer]);
    expect(later.history).toEqual([question, answer]);
  });

  test("earlier history is kept", () => {
    fc.assert(
      fc.property(logs, eventsOfATask, (log, more) => {
        const before = fold(log).history ?? [];

        const after = fold([...log, ...more]).history ?? [];

        expect(after.slice(0, before.length)).toEqual(before);
      }),
    );
  });
});

test("internal events change nothing, except for messages to the task", () => {
  fc.assert(
    fc.property(tasks, internalEvents, (task, event) => {
      expect(applyEvent(task, event)).toBe(task);
    }),
  );
  expect(applyEvent(aTask(), received(aMessage()))).not.toEqual(aTask());
});

function fold(log: readonly AgentEvent[]): Task {
  const [first, ...rest] = log;
  if (first === undefined) throw new Error("the log is empty");
  return rest.reduce(applyEvent, applyEvent(undefined, first));
}

function received(message: Message): AgentEvent {
  return { kind: "internal:message", taskId: "t1", message, timestamp: "2026-01-31T12:00:00.000Z" };
}

function oncePerId(messages: readonly Message[]): readonly Message[] {
  const firsts = new Map<string, Message>();
  for (const message of messages) {
    if (!firsts.has(message.messageId)) firsts.set(message.messageId, message);
  }
  return [...firsts.values()];
}

/** The parts with every run of plain text joined. */
function joinTexts(parts: readonly object[]): readonly object[] {
  const joined: object[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (isPlain(last) && isPlain(part)) joined.splice(-1, 1, textPart(last.text + part.text));
    else joined.push(part);
  }
  return joined;
}

function isPlain(part: object | undefined): part is { readonly text: string } {
  return part !== undefined && Object.keys(part).toSorted().join() === "kind,text";
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
