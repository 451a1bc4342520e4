// The conformance kit. A name added here is a promise; keep it short.
export { checkAgent } from "./check-agent.ts";
export { LEVELS, type Level, counts } from "./level.ts";
export { junitReport } from "./output/junit-report.ts";
export { idOf } from "./probe.ts";
export { CARD_PROBES, GATE, PROBES } from "./probes.ts";
export type { ProbeResult, Report, Section } from "./report.ts";
export type { CheckProgress, CheckSettings } from "./settings.ts";
export { BINDINGS } from "./wire/binding.ts";
export type { WireHeaders } from "./wire/call.ts";
