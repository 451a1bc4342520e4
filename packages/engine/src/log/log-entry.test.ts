import { CODECS } from "@convoke/protocol";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type LogEntry, LogTail, readEntries, readEntry } from "./log-entry.ts";

const aText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("", '"', "\\", '","text":"', '"}],"text":""', "\u2028"),
);

const aChunk = fc
  .record({
    text: aText,
    artifactId: fc.constantFrom("a", "b"),
    append: fc.boolean(),
    more: fc.constantFrom({}, {}, {}, { lastChunk: true }, { metadata: { text: "" } }),
    ofPart: fc.constantFrom({}, {}, {}, { metadata: { text: "" } }),
  })
  .map(({ text, artifactId, append, more, ofPart }) => {
    const artifact = { artifactId, parts: [{ kind: "text", text, ...ofPart }] };
    return { kind: "artifact-update", taskId: "t", contextId: "c", artifact, append, ...more };
  });

const aStatus = fc.constant({
  kind: "status-update",
  taskId: "t",
  contextId: "c",
  status: { state: "working" },
  final: false,
});

/** JSON as this engine writes it, and as others may. */
const aJson = fc
  .tuple(fc.oneof({ weight: 9, arbitrary: aChunk }, aStatus), fc.constantFrom(0, 0, 0, 1))
  .map(([event, indent]) => JSON.stringify(event, null, indent).replaceAll("\n", ""));

describe("the entries of a log", () => {
  test("are the same whether they are parsed together or one by one", () => {
    fc.assert(
      fc.property(fc.array(aJson, { maxLength: 30 }), (texts) => {
        const stored = texts.map((json, index) => ({ seq: index + 1, json, epoch: 7 }));

        const entries = readEntries(stored);

        const apart = stored.map(readEntry);
        expect(entries.map(({ event }) => event)).toEqual(apart.map(({ event }) => event));
        expect(entries.map(({ json, cursor }) => [json, cursor])).toEqual(
          apart.map(({ json, cursor }) => [json, cursor]),
        );
        for (const codec of Object.values(CODECS)) {
          const sent = entries.map((entry) => JSON.parse(entry.text(codec)!) as unknown);
          expect(sent).toEqual(apart.map((entry) => JSON.parse(entry.text(codec)!) as unknown));
        }
      }),
    );
  });

  test("that continue a text are recognized, so that readers need not encode each of them", () => {
    const chunk = (text: string): string =>
      JSON.stringify({
        kind: "artifact-update",
        taskId: "t",
        contextId: "c",
        artifact: { artifactId: "a", parts: [{ kind: "text", text }] },
        append: true,
      });
    const stored = ["1", "2", "3", '"4"'].map((text, index) => ({
      seq: index + 1,
      json: chunk(text),
    }));

    const entries = readEntries(stored);

    expect(entries.map(({ isPlainChunk }) => isPlainChunk)).toEqual([false, false, true, true]);
  });
});

describe("the tail of a log", () => {
  const seqs = (entries: readonly LogEntry[] | undefined): readonly number[] | undefined =>
    entries?.map(({ seq }) => seq);

  /** The entries of a commit of this size, after `head`. */
  const aCommit = (head: number, size: number): readonly LogEntry[] =>
    Array.from({ length: size }, (_, place) => readEntry({ seq: head + place + 1, json: "{}" }));

  test("has what a reader asks for, in order and without gaps, or nothing", () => {
    const sizes = fc.array(fc.oneof(fc.nat(3), fc.constantFrom(1024, 1500)), { maxLength: 30 });
    fc.assert(
      fc.property(sizes, fc.nat(4), fc.integer({ min: 1, max: 2000 }), (commits, first, limit) => {
        const tail = new LogTail();
        let head = first;
        for (const size of commits) {
          tail.add(aCommit(head, size));
          head += size;
        }
        const newest = commits.filter((size) => size > 0).at(-1) ?? 0;

        for (const after of new Set([first, head - newest, head - 1, head - 1200, head])) {
          const entries = seqs(tail.after(after, limit));
          const isNewest = newest > 0 && after >= head - newest;
          if (isNewest) expect(entries).toBeDefined();
          if (entries === undefined) continue;
          const length = Math.min(limit, Math.max(0, head - after));
          expect(entries).toEqual(Array.from({ length }, (_, place) => after + place + 1));
        }
      }),
    );
  });

  test("keeps a few commits and forgets what was before them", () => {
    const tail = new LogTail();
    for (let head = 0; head < 100; head++) tail.add(aCommit(head, 1));

    expect(seqs(tail.after(96, 10))).toEqual([97, 98, 99, 100]);
    expect(tail.after(50, 10)).toBeUndefined();
  });

  test("does not add to what a reader has got", () => {
    const tail = new LogTail();
    tail.add(aCommit(0, 5));
    const read = tail.after(0, 10);
    tail.add(aCommit(5, 1));

    expect(seqs(read)).toEqual([1, 2, 3, 4, 5]);
  });

  test("is empty once it is cleared", () => {
    const tail = new LogTail();
    for (let head = 0; head < 10; head++) tail.add(aCommit(head, 1));
    tail.clear();

    expect(tail.after(9, 1)).toBeUndefined();
  });
});
