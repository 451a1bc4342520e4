import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { jsonValues } from "../testing/arbitraries.suite.ts";
import { SSE_KEEP_ALIVE, SseDecoder, type SseEvent, sseFrame, sseNamedFrame } from "./sse.ts";

/**
 * The possible content of a line: anything except line endings. A NUL makes an id invalid, so ids
 * have none.
 */
const lines = fc
  .string({ unit: "binary", maxLength: 12 })
  .map((text) => text.replaceAll(/[\r\n]/g, ""));
const ids = lines.map((text) => text.replaceAll("\0", ""));

/** One event as a server may write it, with comments and unknown fields. */
const written = fc.record(
  {
    comment: lines,
    unknown: lines,
    id: ids,
    event: lines,
    data: fc.array(lines, { minLength: 1, maxLength: 4 }),
  },
  { requiredKeys: ["data"] },
);

/**
 * One kind of line ending for a whole stream: a CR before an LF would be one line ending, not two.
 */
const streams = fc
  .tuple(fc.array(written, { maxLength: 6 }), fc.constantFrom("\n", "\r\n", "\r"))
  .map(([events, end]) => ({
    events: expectedEvents(events),
    text: events
      .flatMap(({ comment, unknown, id, event, data }) => [
        ...(comment === undefined ? [] : [`:${comment}`]),
        ...(unknown === undefined ? [] : [`retry: ${unknown}`]),
        ...(id === undefined ? [] : [`id: ${id}`]),
        ...(event === undefined ? [] : [`event: ${event}`]),
        ...data.map((line) => `data: ${line}`),
        "",
      ])
      .map((line) => line + end)
      .join(""),
  }));

describe("a stream in chunks", () => {
  verifies(["R44"], "a stream reads the same wherever it was split", () => {
    fc.assert(
      fc.property(
        streams,
        fc.infiniteStream(fc.integer({ min: 0, max: 9 })),
        ({ events, text }, sizes) => {
          expect(decode(cut(text, sizes))).toEqual(events);
        },
      ),
    );
  });

  test.each(["\n", "\r\n", "\r"])(
    "no single split changes it, with lines that end in %j",
    (end) => {
      const text = [
        ": hello",
        "id: 7",
        "event: note",
        "data: first",
        "data: second",
        "",
        "data",
        "",
        "",
      ].join(end);
      const events = [
        { event: "note", data: "first\nsecond", id: "7" },
        { event: "message", data: "", id: "7" },
      ];

      for (let place = 0; place <= text.length; place++) {
        expect(decode([text.slice(0, place), text.slice(place)])).toEqual(events);
        expect(decode([text.slice(0, place), "", text.slice(place)])).toEqual(events);
      }
      expect(decode(text)).toEqual(events);
    },
  );

  test("a huge line that arrives one character at a time is complete", () => {
    const data = "0123456789".repeat(50_000);

    expect(decode(`id: 1\ndata: ${data}\n\n`)).toEqual([{ event: "message", data, id: "1" }]);
  });

  test("an event is delivered as soon as its blank line has arrived", () => {
    const decoder = new SseDecoder();

    expect(decoder.push("data: a\n")).toEqual([]);
    expect(decoder.push("\ndata: b\n")).toEqual([{ event: "message", data: "a", id: "" }]);
    expect(decoder.push("\r\n")).toEqual([{ event: "message", data: "b", id: "" }]);
  });

  test("an event whose blank line never arrived is not an event", () => {
    expect(decode(["data: a\n\ndata: b\n"])).toEqual([{ event: "message", data: "a", id: "" }]);
  });
});

describe("the fields of an event", () => {
  test("an id applies until another arrives; an empty one resets it", () => {
    const stream = "id: 1\ndata: a\n\ndata: b\n\nid: 2\ndata: c\n\nid\ndata: d\n\n";

    expect(decode([stream]).map(({ id }) => id)).toEqual(["1", "1", "2", ""]);
  });

  test("an id counts even if its event has no data", () => {
    expect(decode(["id: 5\n\ndata: a\n\n"])).toEqual([{ event: "message", data: "a", id: "5" }]);
  });

  test("an id with a NUL in it is ignored", () => {
    expect(decode(["id: 1\nid: 2\0\ndata: a\n\n"])[0]?.id).toBe("1");
  });

  test("the name of an event applies to that event only", () => {
    expect(decode(["event: error\ndata: a\n\ndata: b\n\n"]).map(({ event }) => event)).toEqual([
      "error",
      "message",
    ]);
    expect(decode(["event: error\n\ndata: a\n\n"]).map(({ event }) => event)).toEqual(["message"]);
  });

  test("one space after the colon belongs to the field, the next to its value", () => {
    expect(decode(["data:a\ndata: b\ndata:  c\ndata\n\n"])[0]?.data).toBe("a\nb\n c\n");
  });

  test("a byte order mark is ordinary text", () => {
    expect(decode(["data: \uFEFFa\n\n"])[0]?.data).toBe("\uFEFFa");
    expect(decode(["\uFEFFdata: a\ndata: b\n\n"])[0]?.data).toBe("b");
  });

  test("comments are skipped, within and between events", () => {
    expect(decode([`${SSE_KEEP_ALIVE}data: a\n: b\ndata: c\n\n${SSE_KEEP_ALIVE}`])).toEqual([
      { event: "message", data: "a\nc", id: "" },
    ]);
  });
});

describe("what we write", () => {
  verifies(
    ["R34", "R35"],
    "a frame is one event with its sequence number and the complete response",
    () => {
      const frames = fc.array(fc.tuple(fc.nat(), jsonValues, fc.boolean()), { maxLength: 5 });
      fc.assert(
        fc.property(frames, fc.infiniteStream(fc.nat({ max: 9 })), (written_, sizes) => {
          const text = written_
            .map(([id, value, silence]) => {
              const frame = sseFrame(id, '{"result":', JSON.stringify(value), "}");
              return silence ? SSE_KEEP_ALIVE + frame : frame;
            })
            .join("");

          const events = decode(cut(text, sizes));

          expect(text).not.toContain("event:");
          expect(events.map(({ id }) => id)).toEqual(written_.map(([id]) => String(id)));
          expect(events.map(({ data }) => JSON.parse(data) as unknown)).toEqual(
            written_.map(([, result]) => ({ result })),
          );
        }),
      );
    },
  );

  test("an event outside the log has a name and no number", () => {
    expect(sseNamedFrame("error", "{}")).toBe("event: error\ndata: {}\n\n");
    expect(decode([sseFrame(3, "", "1", ""), sseNamedFrame("error", "{}")])).toEqual([
      { event: "message", data: "1", id: "3" },
      { event: "error", data: "{}", id: "3" },
    ]);
  });
});

function decode(pieces: Iterable<string>): readonly SseEvent[] {
  const decoder = new SseDecoder();
  return [...pieces].flatMap((piece) => decoder.push(piece));
}

/** The text in chunks of the given sizes; a size of 0 is an empty chunk. */
function* cut(text: string, sizes: Iterator<number>): Iterable<string> {
  let start = 0;
  while (start < text.length) {
    const size = Number(sizes.next().value);
    yield text.slice(start, start + size);
    start += size;
  }
}

/** According to the standard: an id persists, an empty name is "message". */
function expectedEvents(
  events: readonly {
    readonly id?: string;
    readonly event?: string;
    readonly data: readonly string[];
  }[],
): readonly SseEvent[] {
  let id = "";
  return events.map((event) => {
    id = event.id ?? id;
    return { event: event.event || "message", data: event.data.join("\n"), id };
  });
}
