import { type EgressRequest, createEgress } from "@convoke/egress";
import { expect, onTestFinished, test, vi } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { DEFAULT_BACKOFF, Endpoint, type Outcome, attemptDelivery } from "./endpoint.ts";

const NAMES: Readonly<Record<string, readonly string[]>> = { "vault.corp": ["10.0.0.7"] };

test("a caller cannot distinguish an internal name from one that does not exist", async () => {
  const egress = createEgress({
    resolve: (host) =>
      NAMES[host] === undefined
        ? Promise.reject(Object.assign(new Error(host), { code: "ENOTFOUND" }))
        : Promise.resolve(NAMES[host]),
  });
  const problemOf = async (host: string): Promise<unknown> => {
    const outcome = await attemptDelivery({
      egress,
      url: `https://${host}/hook`,
      notification: { headers: {}, body: "{}" },
      eventKind: "status-update",
      signal: new AbortController().signal,
    });
    return outcome.kind === "failed" && outcome.problem.replace(host, "it");
  };

  expect(await problemOf("vault.corp")).toBe(await problemOf("nowhere.corp"));
  expect(await problemOf("vault.corp")).toContain("does not exist, or its address is not public");
});

verifies("v1-S43", "an attempt takes between 10 and 30 seconds at most", async () => {
  const requests: EgressRequest[] = [];
  const egress = createEgress();
  const outcome = await attemptDelivery({
    egress: {
      ...egress,
      post: async (_, request) => {
        requests.push(request);
        return { status: 200, headers: {}, body: "" };
      },
    },
    url: "https://hooks.example.com/",
    notification: { headers: {}, body: "{}" },
    eventKind: "status-update",
    signal: new AbortController().signal,
  });

  expect(outcome.kind).toBe("delivered");
  expect(requests[0]?.timeoutMs).toBeGreaterThanOrEqual(10_000);
  expect(requests[0]?.timeoutMs).toBeLessThanOrEqual(30_000);
});

verifies("v1-S43", "the pauses between attempts grow, up to five minutes", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const endpoint = new Endpoint({ ...DEFAULT_BACKOFF, fraction: 1 });
  const { signal } = new AbortController();
  const failure: Outcome = { kind: "failed", problem: "the receiver answered 503" };
  const pauses: number[] = [];

  for (let attempts = 0; attempts < 12; attempts++) {
    await endpoint.deliver(async () => failure, signal);
    const pause = endpoint.nextAt! - Date.now();
    pauses.push(pause / 1000);
    await vi.advanceTimersByTimeAsync(pause);
  }

  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
});
