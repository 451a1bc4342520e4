/** An order of the shop. */
export interface Order {
  readonly id: string;
  readonly item: string;
  /** In EUR. */
  readonly total: number;
}

/** The services of the shop. */
export const shop = {
  async findOrder(id: string): Promise<Order> {
    const response = await fetch(`${shopUrl()}/orders/${encodeURIComponent(id)}`);
    if (!response.ok) throw new Error(`the shop has no order ${id}`);
    return (await response.json()) as Order;
  },

  /** Refunds an order. Requests with the same key are one refund. */
  async refund(
    order: string,
    amount: number,
    { idempotencyKey }: { readonly idempotencyKey: string },
  ): Promise<{ readonly refunded: number }> {
    const response = await fetch(`${shopUrl()}/refunds`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": idempotencyKey },
      body: JSON.stringify({ order, amount }),
    });
    if (!response.ok) throw new Error(`the shop did not refund order ${order}`);
    return { refunded: amount };
  },
};

function shopUrl(): string {
  return process.env["SHOP_URL"] ?? "http://127.0.0.1:4100";
}
