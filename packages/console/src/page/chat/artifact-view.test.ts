import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { imageAddress, parseCsv, toFile, viewPart } from "./artifact-view.ts";
import { decodeBase64, encodeBase64 } from "./base64.ts";

function file(name: string, mimeType: string, text: string) {
  const bytes = encodeBase64(new TextEncoder().encode(text));
  return { kind: "file", file: { name, mimeType, bytes } } as const;
}

describe("an artifact", () => {
  test.each([
    [file("a.md", "text/markdown", "# a"), { kind: "markdown", text: "# a" }],
    [file("a.ts", "text/plain", "let a"), { kind: "code", text: "let a", language: "typescript" }],
    [file("a.json", "application/json", '{"a":1}'), { kind: "json", value: { a: 1 } }],
    [file("a.html", "text/html", "<b>"), { kind: "code", text: "<b>", language: "xml" }],
    [file("a.svg", "image/svg+xml", "<svg/>"), { kind: "code", text: "<svg/>", language: "xml" }],
    [
      file("a.pdf", "application/pdf", "%PDF"),
      { kind: "file", mediaType: "application/pdf", size: 4 },
    ],
    [
      file("a.csv", "text/csv", "a,b\n1,2"),
      { kind: "table", header: ["a", "b"], rows: [["1", "2"]] },
    ],
    [
      { kind: "data", data: [{ a: 1 }, { b: "x" }] },
      { kind: "table", header: ["a", "b"] },
    ],
    [
      { kind: "data", data: { path: "a", after: "x" } },
      { kind: "diff", path: "a", after: "x" },
    ],
    [
      { kind: "file", file: { uri: "https://a.example/" } },
      { kind: "link", uri: "https://a.example/" },
    ],
    [
      { kind: "text", text: "*a*" },
      { kind: "markdown", text: "*a*" },
    ],
  ] as const)("%j is shown as %j", (part, view) => {
    expect(viewPart(part)).toMatchObject(view);
  });

  test("is an image only if a browser can draw it without running anything", () => {
    expect(viewPart(file("a.png", "image/png", "x"))).toMatchObject({ kind: "image" });
  });

  test("is shown in the text that names it, if it is an image with its bytes", () => {
    const artifacts = [
      { artifactId: "1", name: "a.svg", parts: [file("a.svg", "image/svg+xml", "x")] },
      { artifactId: "2", name: "a.png", parts: [file("a.png", "image/png", "x")] },
    ];
    const status = { state: "completed" } as const;
    const task = { kind: "task", id: "t", contextId: "c", status, artifacts } as const;

    expect(imageAddress(task, "a.png")).toBe("data:image/png;base64,eA==");
    expect(imageAddress(task, "a.svg")).toBeUndefined();
    expect(imageAddress(task, "https://evil.example/a.png")).toBeUndefined();
  });

  test("is downloaded as its bytes, under a name without a path", async () => {
    const parts = [file("a.txt", "text/html", "<b>")];
    const { name, content } = toFile({ artifactId: "x", name: "../a b.txt", parts });

    expect(name).toBe(".._a_b.txt");
    expect(await content.text()).toBe("<b>");
    expect(content.type).toBe("application/octet-stream");
  });
});

test("comma-separated values keep what is in quotes", () => {
  expect(parseCsv('a,"b, ""c""\nd"\r\n1,\n')).toEqual([
    ["a", 'b, "c"\nd'],
    ["1", ""],
  ]);
});

test("bytes survive base64", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(decodeBase64(encodeBase64(bytes))).toEqual(bytes);
    }),
    { numRuns: 50 },
  );
  expect(decodeBase64("not base64!")).toBeUndefined();
});
