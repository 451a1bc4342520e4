import { defineAgent, reject } from "convoke";
import { findOrder, pay } from "./shop.ts";

/** Refunds an order: finished steps never run twice, and the question survives kill -9. */
export default defineAgent({
  name: "Refunds",
  description: "Refunds an order.",
  async *run({ text, step, ask, artifact }) {
    const order = await step("look up", () => findOrder(text), { idempotent: true });
    if ((await ask(`Refund ${order.total}?`, ["yes", "no"])) === "no")
      return reject("not approved");
    await step("refund", ({ key }) => pay.refund(order, { idempotencyKey: key }));
    yield `Refunded ${order.total}.`;
    yield artifact("receipt.json", { id: order.id });
  },
});
