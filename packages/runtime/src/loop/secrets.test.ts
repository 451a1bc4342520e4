import { expect, test } from "vitest";
import { Secrets } from "./secrets.ts";

test("a secret is hidden wherever it stands, also where JSON writes it otherwise", () => {
  const secrets = new Secrets();
  secrets.add('pass"word');

  expect(secrets.hide({ log: 'used pass"word twice: pass"word', n: 1 })).toEqual({
    log: "used [hidden] twice: [hidden]",
    n: 1,
  });
  const clean = { log: "nothing" };
  expect(secrets.hide(clean)).toBe(clean);
});

test("what is too short to be told apart is left", () => {
  const secrets = new Secrets();
  secrets.add("a");

  expect(secrets.hide("banana")).toBe("banana");
});
