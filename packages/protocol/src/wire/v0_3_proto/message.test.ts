import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonValues, modelOf, overTheWire } from "../../testing/arbitraries.suite.ts";
import { decodePart, encodePart } from "./message.ts";

test("a part arrives as it was sent", () => {
  fc.assert(
    fc.property(modelOf("0.3-proto").part, (part) => {
      expect(decodePart(overTheWire(encodePart(part)) as object, "part")).toStrictEqual(part);
    }),
  );
});

test("any JSON value can be sent as data, wrapped because 0.3 allows only objects", () => {
  fc.assert(
    fc.property(jsonValues, (data) => {
      const arrived = decodePart(overTheWire(encodePart({ kind: "data", data })) as object, "part");

      expect(arrived).toStrictEqual({ kind: "data", data });
    }),
  );
});

test("each part is its member of the proto", () => {
  const metadata = { lang: "en" };

  expect(encodePart({ kind: "text", text: "", metadata })).toEqual({ text: "", metadata });
  expect(encodePart({ kind: "data", data: { a: 1 } })).toEqual({ data: { data: { a: 1 } } });
  expect(
    encodePart({
      kind: "file",
      file: { uri: "https://x.test/f", mimeType: "text/plain", name: "f" },
    }),
  ).toEqual({ file: { fileWithUri: "https://x.test/f", mimeType: "text/plain", name: "f" } });
  expect(encodePart({ kind: "file", file: { bytes: "aGk=" }, metadata })).toEqual({
    file: { fileWithBytes: "aGk=" },
    metadata,
  });
});

test("the official SDKs understand the wrapping of data", () => {
  expect(encodePart({ kind: "data", data: 21.5, metadata: { source: "sensor" } })).toEqual({
    data: { data: { value: 21.5 } },
    metadata: { source: "sensor", data_part_compat: true },
  });
});

test("empty text and an empty file are content", () => {
  expect(decodePart({ text: "" }, "part")).toEqual({ kind: "text", text: "" });
  expect(decodePart({ file: { fileWithBytes: "" } }, "part")).toEqual({
    kind: "file",
    file: { bytes: "" },
  });
});

test("a part in the JSON-RPC dialect is accepted", () => {
  expect(decodePart({ kind: "text", text: "hi" }, "part")).toEqual({ kind: "text", text: "hi" });
});

test.each([
  [{}, "part must have exactly one of text, file, data"],
  [{ text: "a", data: { data: {} } }, "part must have exactly one of text, file, data"],
  [{ text: null }, "part must have exactly one of text, file, data"],
  [{ text: 5 }, "part.text must be a string"],
  [{ data: {} }, "part.data.data is required"],
  [{ data: { data: [] } }, "part.data.data must be an object"],
  [{ file: {} }, "part.file must have exactly one of fileWithUri, fileWithBytes"],
  [
    { file: { fileWithUri: "https://x.test/", fileWithBytes: "" } },
    "part.file must have exactly one of fileWithUri, fileWithBytes",
  ],
  [{ file: { fileWithUri: "" } }, "part.file.fileWithUri must not be empty"],
])("the part %j is rejected with the reason", (part, detail) => {
  expect(() => decodePart(part, "part")).toThrow(
    expect.objectContaining({ reason: "InvalidParams", detail }),
  );
});
