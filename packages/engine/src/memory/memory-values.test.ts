import { describeKeyValues } from "../testing/describe-key-values.ts";
import { MemoryValues } from "./memory-values.ts";

describeKeyValues("values in memory", async () => {
  const { open } = new MemoryValues();
  return { a: open, b: open, [Symbol.asyncDispose]: async () => {} };
});
