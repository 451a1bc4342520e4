import type { CheckServer } from "@convoke/server";

const TIMEOUT_MS = 20_000;

/** Checks an agent of the running server, as `convoke check` does. Loads the probes on first use. */
export const checkServer: CheckServer = async (request) => {
  const { checkAgent } = await import("@convoke/check");
  return checkAgent({
    ...request,
    message: "hello",
    timeoutMs: TIMEOUT_MS,
    allowOrigins: [],
    versions: [],
    bindings: [],
  });
};
