import { expect, test } from "vitest";
import { withoutAddresses } from "./remote-error.ts";

test.each([
  ["http://10.0.0.5:3000/a?b=c cannot be reached", "writer cannot be reached"],
  ["connect ECONNREFUSED 127.0.0.1:3000", "connect ECONNREFUSED writer"],
  ["no answer of [::1]:8080 or localhost:9", "no answer of writer or writer"],
  ["it answered for task 1.2 instead of 3", "it answered for task 1.2 instead of 3"],
])("%s", (text, shown) => {
  expect(withoutAddresses(text, "writer")).toBe(shown);
});
