import assert from "node:assert/strict";
import { total } from "./cart.js";

assert.equal(total([{ price: 20, count: 3 }]), 60, "three apples cost three times as much as one");
