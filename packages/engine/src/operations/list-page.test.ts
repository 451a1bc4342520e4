import { describe, expect, test } from "vitest";
import { decodeToken, encodeToken } from "./list-page.ts";

test("a token contains where the page ended, and when the listing started", () => {
  const position = { statusAt: 20, taskId: "t2" };

  expect(decodeToken(encodeToken(30, position))).toEqual({ at: 30, position });
});

describe("a token that no page returned", () => {
  const encoded = (text: string) => Buffer.from(text).toString("base64url");

  test.each([
    ["garbage", "%%%"],
    ["a word", "next"],
    ["a number", "2"],
    ["an encoded word", encoded("hello")],
    ["a position without a start time", encoded("20 t2")],
    ["a position without a task", encoded("30 20 ")],
    ["a position without a time", encoded("30 t2")],
    ["a time that is not a number", encoded("30 soon t2")],
    ["a negative time", encoded("30 -20 t2")],
    ["a position of four fields", encoded("30 20 t2 t3")],
    ["a position on two lines", encoded("30 20 t2\n")],
    ["random bytes", Buffer.from([0xff, 0x00, 0x80, 0x20]).toString("base64url")],
  ])("%s is invalid", (_what, token) => {
    expect(decodeToken(token)).toBeUndefined();
  });
});
