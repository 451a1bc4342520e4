/** An order of the shop. */
export interface Order {
  readonly id: string;
  readonly total: string;
}

export async function findOrder(id: string): Promise<Order> {
  const response = await fetch(`${shopUrl()}/orders/${encodeURIComponent(id)}`);
  if (!response.ok) throw new Error(`the shop has no order ${id}`);
  return (await response.json()) as Order;
}

export const pay = {
  /** Refunds an order. Requests with the same key are one refund. */
  async refund(
    order: Order,
    { idempotencyKey }: { readonly idempotencyKey: string },
  ): Promise<void> {
    const response = await fetch(`${shopUrl()}/refunds`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": idempotencyKey },
      body: JSON.stringify(order),
    });
    if (!response.ok) throw new Error(`the shop refused the refund of ${order.id}`);
  },
};

/** The address of the shop's services. */
function shopUrl(): string {
  return process.env["SHOP_URL"] ?? "http://127.0.0.1:4100";
}
