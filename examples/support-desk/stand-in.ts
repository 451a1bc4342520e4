import { resultText, standIn } from "../stand-in.ts";
import type { Order } from "./shop.ts";

/** Plays the model without a key: it looks up the order that a message names, and refunds it. */
export const deskStandIn = standIn(({ text, results }) => {
  const order = /\b[A-Z]-\d+\b/.exec(text)?.[0];
  if (order === undefined) return "Which order is it? Please send me its number, such as A-7.";
  if (!results.has("find_order")) {
    return { kind: "tool-call", toolName: "find_order", input: { order } };
  }
  const found = results.get("find_order") as Partial<Order> | string;
  if (typeof found === "string") return `I could not find order ${order}.`;
  if (!results.has("refund")) {
    const input = { order, amount: found.total, reason: text };
    return { kind: "tool-call", toolName: "refund", input };
  }
  const outcome = resultText(results.get("refund"))!;
  return outcome.includes('"refunded"')
    ? `I am sorry about your ${found.item}. ${found.total} EUR are on their way to you.`
    : `I am sorry about your ${found.item}. I cannot refund it: ${outcome}`;
});
