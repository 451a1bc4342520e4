// The conformance kit for A2A servers. A name added here is a promise; keep it short.

// Check an agent
export { checkAgent } from "./run/check-agent.ts";
export type { CheckProgress, CheckSettings } from "./scene/settings.ts";

// Read the report
export { junitReport } from "./output/report.ts";
export type { ProbeResult, Report, Section } from "./output/report.ts";

// Choose probes
export { CARD_PROBES, GATE, PROBES } from "./probes/index.ts";
export { LEVELS, type Level, meetsLevel, probeId } from "./probes/probe.ts";
export { BINDINGS, type WireHeaders } from "./wire/client.ts";
