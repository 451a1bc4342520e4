import { expect, test } from "vitest";
import { findRipgrep, ripgrepPattern } from "./ripgrep.ts";

function converted(pattern: string): string | undefined {
  return ripgrepPattern({ pattern, isLiteral: false, ignoreCase: false, context: 0 });
}

test("a pattern that means the same to ripgrep is used as it is", () => {
  for (const pattern of [
    "foo",
    "^a.b$",
    "(?:a|b){2,3}?",
    "[a-z_.]+",
    "[^\\]x]",
    "a\\.b\\(",
    "ü*",
  ]) {
    expect(converted(pattern)).toBe(pattern);
  }
});

test("the classes of JavaScript are ASCII, so they are spelled out for ripgrep", () => {
  expect(converted("\\bfoo\\W\\d+\\/")).toBe("(?-u:\\b)foo[^0-9A-Za-z_][0-9]+/");
});

test("a pattern that could mean something else to ripgrep is not given to it", () => {
  const patterns = [
    "a(?=b)",
    "(?<!a)b",
    "(a)\\1",
    "[[a]",
    "[a&&b]",
    "[*--x]",
    "[\\w]",
    "\\<a",
    "[]",
    "\\-",
  ];
  for (const pattern of patterns) expect(converted(pattern), pattern).toBeUndefined();
});

test("ripgrep is found by its variable, and turned off if that is empty", () => {
  expect(findRipgrep({ CONVOKE_RG: "/opt/rg", PATH: "/usr/bin" })).toBe("/opt/rg");
  expect(findRipgrep({ CONVOKE_RG: "", PATH: process.env["PATH"] })).toBeUndefined();
  expect(findRipgrep({ PATH: "/nowhere" })).toBeUndefined();
});
