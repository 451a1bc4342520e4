import type { FaultScenario } from "../fault-scenario.ts";
import { BEHIND } from "./behind.ts";
import { CARDS } from "./cards.ts";
import { CUTS } from "./cuts.ts";
import { DIALECTS } from "./dialects.ts";
import { FRAMES } from "./frames.ts";
import { GRPC_FAULTS } from "./grpc.ts";
import { NOT_A_STREAM } from "./not-a-stream.ts";
import { REFUSALS } from "./refusals.ts";
import { SLOW } from "./slow.ts";
import { TASKS } from "./tasks.ts";
import { TEXTS } from "./texts.ts";
import { TLS } from "./tls.ts";
import { VERSIONS } from "./versions.ts";

export interface FaultGroup {
  readonly title: string;
  readonly scenarios: readonly FaultScenario[];
}

/** All faults, grouped by topic. */
export const FAULT_GROUPS: readonly FaultGroup[] = [
  { title: "Interrupted connections", scenarios: CUTS },
  { title: "Frames", scenarios: FRAMES },
  { title: "Unexpected responses", scenarios: NOT_A_STREAM },
  { title: "Slow and silent agents", scenarios: SLOW },
  { title: "Refusals", scenarios: REFUSALS },
  { title: "Versions", scenarios: VERSIONS },
  { title: "Cards", scenarios: CARDS },
  { title: "Stream encoding", scenarios: TEXTS },
  { title: "Variants of 0.3", scenarios: DIALECTS },
  { title: "Tasks", scenarios: TASKS },
  { title: "gRPC", scenarios: GRPC_FAULTS },
  { title: "TLS", scenarios: TLS },
  { title: "A real agent behind an unreliable network", scenarios: BEHIND },
];

export const FAULT_SCENARIOS: readonly FaultScenario[] = FAULT_GROUPS.flatMap(
  ({ scenarios }) => scenarios,
);
