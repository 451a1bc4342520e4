import { expect, test } from "vitest";
import { Secrets } from "./secrets.ts";

test("a secret is redacted everywhere, also where JSON escapes it", () => {
  const secrets = new Secrets();
  secrets.add('pass"word');

  expect(secrets.hide({ log: 'used pass"word twice: pass"word', n: 1 })).toEqual({
    log: "used [hidden] twice: [hidden]",
    n: 1,
  });
  const clean = { log: "nothing" };
  expect(secrets.hide(clean)).toBe(clean);
});

test("a text that is too short to be recognized is kept", () => {
  const secrets = new Secrets();
  secrets.add("a");

  expect(secrets.hide("banana")).toBe("banana");
});
