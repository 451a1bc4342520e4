import { type WireVersion, inFlight } from "../client.ts";
import { report } from "./control.ts";
import { type Order, chunkText } from "./order.ts";

/** A job that the measuring process gives to a client. */
export interface Job {
  readonly kind: "send" | "stream";
  readonly version: WireVersion;
  readonly order: Order;
  /** How many at a time, and how many in total. */
  readonly atOnce: number;
  readonly total: number;
}

/**
 * A client under measurement. Both methods return the text of the answer, so that a wrong answer is
 * noticed.
 */
export interface MeasuredClient {
  /** Waits for the completed task. */
  send(order: Order): Promise<string>;
  /** Reads every event of the answer. */
  stream(order: Order): Promise<string>;
}

/**
 * Runs the jobs of the measuring process with clients of the agent at BENCH_AGENT, one for each
 * version.
 */
export function reportClient(
  open: (url: string, version: WireVersion) => Promise<MeasuredClient>,
): void {
  const url = process.env["BENCH_AGENT"] ?? "";
  const clients = new Map<WireVersion, Promise<MeasuredClient>>();
  report(url, {
    work: async ({ kind, version, order, atOnce, total }) => {
      const opened = clients.get(version) ?? open(url, version);
      clients.set(version, opened);
      const client = await opened;
      const expected = Array.from({ length: order.count }, (_, place) => chunkText(place)).join("");
      await inFlight(atOnce, total, async () => {
        const text = await client[kind](order);
        if (text !== expected)
          throw new Error(`expected ${expected.length} characters, got ${text.length}`);
      });
    },
  });
}
