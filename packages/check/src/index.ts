// The conformance kit for A2A servers and clients. A name added here is a promise; keep it short.

// Check an agent
export { checkAgent } from "./run/check-agent.ts";
export type { CheckProgress, CheckSettings } from "./scene/settings.ts";

// Check a client
export {
  type ClientCheckSettings,
  type DriveClient,
  type OfferedProbe,
  checkClient,
} from "./run/check-client.ts";
export { clientCommand, driverCommand } from "./run/client-command.ts";
export type { ClientResult } from "./probe-server/visit.ts";
export {
  CLIENT_ACTIONS,
  type ClientAction,
  type ClientProbe,
} from "./client-probes/client-probe.ts";
export { CLIENT_PROBES } from "./client-probes/index.ts";

// Read the report
export { junitReport } from "./output/report.ts";
export { markdownReport } from "./output/markdown-report.ts";
export type { ProbeResult, Report, Results, Section } from "./output/report.ts";

// Choose probes
export { CARD_PROBES, GATE, PROBES } from "./probes/index.ts";
export { LEVELS, type Level, meetsLevel, probeId } from "./probes/probe.ts";
export { BINDINGS, type WireHeaders } from "./wire/client.ts";
