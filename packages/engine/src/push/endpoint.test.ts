import { createEgress } from "@convoke/egress";
import { expect, test } from "vitest";
import { attemptDelivery } from "./endpoint.ts";

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
