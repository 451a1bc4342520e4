import { readFileSync } from "node:fs";

/** One row of the sales table. */
export interface Sale {
  readonly month: string;
  readonly region: string;
  readonly product: string;
  readonly units: number;
  readonly revenue: number;
}

/** The columns that sales can be grouped by. */
export const DIMENSIONS = ["month", "region", "product"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

const [head = "", ...lines] = readFileSync(new URL("./sales.csv", import.meta.url), "utf8")
  .trim()
  .split("\n");

export const COLUMNS: readonly string[] = head.split(",");

export const SALES: readonly Sale[] = lines.map((line) => {
  const [month = "", region = "", product = "", units, revenue] = line.split(",");
  return { month, region, product, units: Number(units), revenue: Number(revenue) };
});

/** Total units and revenue of one group. */
export interface Total {
  readonly name: string;
  readonly units: number;
  readonly revenue: number;
}

/** The totals for each month, region or product, optionally of one product only. */
export function totalsBy(dimension: Dimension, product?: string): readonly Total[] {
  const sales = SALES.filter((sale) => product === undefined || sale.product === product);
  return [...Map.groupBy(sales, (sale) => sale[dimension])].map(([name, group]) => ({
    name,
    units: group.reduce((sum, { units }) => sum + units, 0),
    revenue: group.reduce((sum, { revenue }) => sum + revenue, 0),
  }));
}
