import { type Agent, type ModelSpec, defineAgent, tool } from "convoke";
import { z } from "zod";
import { shop } from "./shop.ts";
import { deskStandIn } from "./stand-in.ts";

/** In EUR. The desk decides up to the first limit, a team lead up to the second, nobody above it. */
const ALONE = 50;
const WITH_APPROVAL = 500;

const findOrder = tool({
  name: "find_order",
  description: "Finds an order by its number.",
  inputSchema: z.object({ order: z.string() }),
  idempotent: true,
  run: ({ order }) => shop.findOrder(order),
});

const refund = tool({
  name: "refund",
  description: "Refunds an order, the whole price or a part of it, in EUR.",
  inputSchema: z.object({
    order: z.string(),
    amount: z.number().positive(),
    reason: z.string(),
  }),
  // The rule is code and not a prompt: no customer can talk the model out of it.
  confirm: ({ input: { order, amount, reason } }) => {
    if (amount <= ALONE) return "allow";
    if (amount > WITH_APPROVAL) return "deny";
    return {
      title: `Refund ${amount} EUR of order ${order}`,
      prompt: `The customer says: ${reason}`,
      risk: "warning",
    };
  },
  // The shop pays once per key, so a call that a crash interrupted is made again.
  idempotent: true,
  run: ({ order, amount }, { key }) => shop.refund(order, amount, { idempotencyKey: key }),
});

/** Answers customers of a shop, and refunds orders within its limits. */
export function desk(model: ModelSpec): Agent {
  return defineAgent({
    id: "desk",
    name: "Support desk",
    description: "Answers customers of a shop, and refunds orders.",
    model,
    instructions:
      "You work at the support desk of a shop. Look up the order before you promise anything. " +
      "Refund what arrived broken or not at all. If a refund is refused, say so and why.",
    tools: [findOrder, refund],
    // An approval that nobody decides on within two days is a rejection. The word "approve" in a
    // message is a word of the customer, so it decides nothing.
    approvals: { expiresInMs: 48 * 60 * 60 * 1000, acceptPlainText: false },
    budget: { iterations: 8, toolCalls: 10 },
  });
}

export default desk(process.env["MODEL"] ?? deskStandIn);
