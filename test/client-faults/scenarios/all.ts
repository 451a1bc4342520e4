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

/** Everything that may go wrong, by what it concerns. */
export const FAULT_GROUPS: readonly FaultGroup[] = [
  { title: "Connections that end", scenarios: CUTS },
  { title: "Frames", scenarios: FRAMES },
  { title: "Answers that are something else", scenarios: NOT_A_STREAM },
  { title: "Slow and silent", scenarios: SLOW },
  { title: "Refusals", scenarios: REFUSALS },
  { title: "Versions", scenarios: VERSIONS },
  { title: "Cards", scenarios: CARDS },
  { title: "The text of streams", scenarios: TEXTS },
  { title: "Spellings of 0.3", scenarios: DIALECTS },
  { title: "Tasks", scenarios: TASKS },
  { title: "gRPC", scenarios: GRPC_FAULTS },
  { title: "TLS", scenarios: TLS },
  { title: "A real agent behind a bad network", scenarios: BEHIND },
];

export const FAULT_SCENARIOS: readonly FaultScenario[] = FAULT_GROUPS.flatMap(
  ({ scenarios }) => scenarios,
);
