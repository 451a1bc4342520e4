import assert from "node:assert/strict";
import { test } from "node:test";
import { total } from "./cart.js";

test("three apples cost three times as much as one", () => {
  assert.equal(total([{ price: 20, count: 3 }]), 60);
});
