import { CODECS } from "@convoke/protocol";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readEntries, readEntry } from "./log-entry.ts";

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
