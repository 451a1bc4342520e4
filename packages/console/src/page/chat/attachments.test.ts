import { describe, expect, test } from "vitest";
import { attachFile, attachJson, inputModes, isAccepted, mediaTypeOf } from "./attachments.ts";

describe("what can be sent with a message", () => {
  test("is limited by the input modes of the card and of its skills", () => {
    const card = {
      defaultInputModes: ["text/plain"],
      skills: [{ inputModes: ["image/*", "text/plain"] }, { id: "other" }],
    };
    const modes = inputModes(card);

    expect(modes).toEqual(["text/plain", "image/*"]);
    expect(
      ["text/csv", "image/png", "application/pdf"].map((type) => isAccepted(modes, type)),
    ).toEqual([true, true, false]);
  });

  test("is known by its name if the browser does not know its type", () => {
    expect(mediaTypeOf({ name: "a.jsonl", type: "" })).toBe("application/json");
    expect(mediaTypeOf({ name: "a.bin", type: "" })).toBe("application/octet-stream");
    expect(mediaTypeOf({ name: "a.txt", type: "text/plain;charset=utf-8" })).toBe("text/plain");
  });

  test("is a file with its bytes, or JSON as data", async () => {
    const file = new File(["hello"], "a.txt", { type: "text/plain" });

    expect((await attachFile(file, ["text/plain"])).part).toEqual({
      kind: "file",
      file: { name: "a.txt", mimeType: "text/plain", bytes: "aGVsbG8=" },
    });
    await expect(attachFile(file, ["image/png"])).rejects.toThrow(/does not accept text\/plain/);
    expect(attachJson('{"a":1}').part).toEqual({ kind: "data", data: { a: 1 } });
    expect(() => attachJson("{")).toThrow(SyntaxError);
  });
});
