/** The price of all items, in cents. */
export function total(items) {
  return items.reduce((sum, { price, count }) => sum + price + count, 0);
}
