import { type Agent, type ModelSpec, defineAgent, tool } from "convoke";

const ORDERS = new Map([
  ["1001", { item: "lamp", total: 40 }],
  ["1002", { item: "chair", total: 120 }],
]);

const ORDER = {
  type: "object",
  properties: { order: { type: "string", description: "The number of the order, such as 1001." } },
  required: ["order"],
} as const;

/** What the schema describes: arguments are checked before a tool runs. */
type OrderInput = { readonly order: string };

const findOrder = tool({
  name: "find_order",
  description: "Finds an order by its number.",
  inputSchema: ORDER,
  idempotent: true,
  run: (input) => {
    const { order } = input as OrderInput;
    return ORDERS.get(order) ?? `There is no order ${order}.`;
  },
});

const refund = tool({
  name: "refund",
  description: "Refunds an order.",
  inputSchema: ORDER,
  // A person approves every call before it runs.
  confirm: "ask",
  run: (input) => `Order ${(input as OrderInput).order} is refunded.`,
});

/** Answers questions about orders, with any model. */
export function createAgent(model: ModelSpec): Agent {
  return defineAgent({
    name: "Shop assistant",
    description: "Finds orders and refunds them.",
    model,
    instructions: "Look up an order before you refund it. Be brief.",
    tools: [findOrder, refund],
  });
}

// The demo model needs no key and is not an AI. A real one: MODEL=anthropic:claude-sonnet-4-5
export default createAgent(process.env["MODEL"] ?? "demo");
