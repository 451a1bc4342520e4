import type { CheckServer } from "@convoke/server";

const TIMEOUT_MS = 20_000;

/**
 * Checks an agent of the running server, as `convoke check` does. Loads the probes on first use. "card"
 * in `only` stands for all probes of the card.
 */
export const checkServer: CheckServer = async ({ only, ...request }) => {
  const { CARD_PROBES, checkAgent, junitReport, probeId } = await import("@convoke/check");
  const ofCard = CARD_PROBES.map((probe) => probeId(probe, probe.claim));
  const report = await checkAgent({
    ...request,
    only: only.flatMap((id) => (id === "card" ? ofCard : [id])),
    message: "hello",
    timeoutMs: TIMEOUT_MS,
    allowOrigins: [],
    versions: [],
    bindings: [],
  });
  return { ...report, junit: junitReport(report) };
};
