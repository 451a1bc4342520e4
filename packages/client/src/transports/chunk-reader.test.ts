import { CODECS, type PublicEvent, type SseEvent } from "@convoke/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ChunkReader } from "./chunk-reader.ts";

const VERSIONS = ["0.3", "1.0"] as const;
type Version = (typeof VERSIONS)[number];

interface ChunkOptions {
  /** What comes before the artifact in the event. */
  readonly first?: object;
  readonly append?: unknown;
}

/** A chunk of an answer as an agent sends it. */
function chunk(version: Version, text: unknown, { first, append = true }: ChunkOptions = {}) {
  const part = version === "0.3" ? { kind: "text", text } : { text };
  const artifact = { artifactId: "answer", parts: [part] };
  const update = { ...first, taskId: "t1", contextId: "c1", artifact, append };
  return version === "0.3" ? { kind: "artifact-update", ...update } : { artifactUpdate: update };
}

function sse(data: string): SseEvent {
  return { event: "message", data, id: "" };
}

/** A reader, and how many events it parsed completely. */
function startReading(version: Version) {
  let parsed = 0;
  const parse = ({ data }: SseEvent): PublicEvent => {
    parsed += 1;
    return CODECS[version].decodeEvent(JSON.parse(data));
  };
  const reader = new ChunkReader(parse);
  return { read: (data: string) => reader.read(sse(data)), parsed: () => parsed };
}

for (const version of VERSIONS) {
  const expected = (data: string) => CODECS[version].decodeEvent(JSON.parse(data));

  test(`chunks of ${version} that differ in their text only are read as if each had been parsed`, () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string({ unit: fc.constantFrom('"', "\\", "\n", "é", "text", ":", "{", "}", "?") }),
    );
    const format = fc.constantFrom(
      (value: unknown) => JSON.stringify(value),
      (value: unknown) => JSON.stringify(value, undefined, 1).replaceAll("\n", ""),
      // As agents in Python write it.
      (value: unknown) =>
        JSON.stringify(value).replaceAll(
          /[^\0-~]/g,
          (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
        ),
    );
    fc.assert(
      fc.property(fc.array(text), format, (texts, toJson) => {
        const { read } = startReading(version);
        for (const one of texts) {
          const data = toJson(chunk(version, one));
          expect(read(data)).toStrictEqual(expected(data));
        }
      }),
    );
  });

  test(`a long answer of ${version} is parsed only at its beginning`, () => {
    const { read, parsed } = startReading(version);

    for (let count = 0; count < 1000; count++) {
      expect(read(JSON.stringify(chunk(version, `word ${count} `)))).toMatchObject({
        artifact: { parts: [{ kind: "text", text: `word ${count} ` }] },
      });
    }

    expect(parsed()).toBe(2);
  });

  test(`any other event of ${version} is parsed`, () => {
    const { read } = startReading(version);
    const usual = JSON.stringify(chunk(version, "usual"));

    for (const data of [
      JSON.stringify(chunk(version, "last", { append: false })),
      usual.replace('"usual"', '"two","filename":"texts"'),
      usual.replace('"answer"', '"other!"'),
      usual.replace('"append":true', '"append":null'),
    ]) {
      read(usual);
      expect(read(data)).toStrictEqual(expected(data));
    }
    const half = usual.slice(0, -10);
    expect(() => read(half)).toThrow(SyntaxError);
    const open = usual.replace('usual"', 'usual\\"');
    expect(() => read(open)).toThrow(SyntaxError);
  });
}

test("the same text in another field is not mistaken for the chunk's", () => {
  const { read } = startReading("1.0");
  // 1.0 ignores unknown fields, and the agent may escape any character.
  const data = (text: string) =>
    JSON.stringify(chunk("1.0", text, { first: { note: { text: "a" } } })).replace(
      /"a"(?=}])/,
      String.raw`"\u0061"`,
    );

  read(data("a"));

  expect(read(data("a").replace('"a"', '"b"'))).toMatchObject({
    artifact: { parts: [{ kind: "text", text: "a" }] },
  });
});

test("chunks do not share what a program might change", () => {
  const { read } = startReading("0.3");
  const data = (text: string) =>
    JSON.stringify(chunk("0.3", text, { first: { metadata: { seen: [] } } }));

  const [one, two] = [read(data("a")), read(data("b"))];

  expect(two).toMatchObject({ metadata: { seen: [] } });
  expect((one as { metadata?: unknown }).metadata).not.toBe(
    (two as { metadata?: unknown }).metadata,
  );
});

test("an agent whose chunks all differ costs a limited number of attempts", () => {
  const { read, parsed } = startReading("0.3");

  for (let count = 0; count < 1000; count++) {
    read(JSON.stringify(chunk("0.3", "a", { first: { at: count } })));
  }

  expect(parsed()).toBe(1000 + 16);
});
