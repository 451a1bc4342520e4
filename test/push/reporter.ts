import { defineAgent } from "@convoke/runtime";

/** Reports between durable steps, so that a killed run resumes from its journal. */
export const reporter = defineAgent({
  name: "Reporter",
  description: "Reports its progress.",
  async *run({ step, status, sleep }) {
    for (let count = 1; count <= 5; count++) {
      // Idempotent, because a kill may interrupt it, and that would fail the task otherwise.
      await step("work", () => count, { idempotent: true });
      yield status(`report ${count}`);
      await sleep(20);
    }
    yield "all ";
    yield "done";
  },
});
