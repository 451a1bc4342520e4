import { AGENT_LOOP } from "./requirements/agent-loop.ts";
import { CODING_AGENT } from "./requirements/coding-agent.ts";
import { CONFIGURATION } from "./requirements/configuration.ts";
import { CONFORMANCE_V03_CLIENT } from "./requirements/conformance-v03-client.ts";
import { CONFORMANCE_V03 } from "./requirements/conformance-v03.ts";
import { CONFORMANCE_V1_CLIENT } from "./requirements/conformance-v1-client.ts";
import { CONFORMANCE_V1 } from "./requirements/conformance-v1.ts";
import { DISCOVERY } from "./requirements/discovery.ts";
import { GUARANTEES } from "./requirements/guarantees.ts";
import { INBOUND_SESSIONS } from "./requirements/inbound-sessions.ts";
import { INPUT } from "./requirements/input.ts";
import { LOOP_REGRESSIONS } from "./requirements/loop-regressions.ts";
import { OBSERVABILITY } from "./requirements/observability.ts";
import { PROTOCOL_SURFACE } from "./requirements/protocol-surface.ts";
import { REMOTE_INVOCATION } from "./requirements/remote-invocation.ts";
import type { Requirement, RequirementGroup } from "./requirements/requirement.ts";
import { RESUME } from "./requirements/resume.ts";
import { SDK_PROBES } from "./requirements/sdk-probes.ts";
import { SECURITY } from "./requirements/security.ts";
import { SEED_FORMS } from "./requirements/seed-forms.ts";
import { STORE_AND_TIMEOUTS } from "./requirements/store-and-timeouts.ts";
import { STREAMING } from "./requirements/streaming.ts";
import { SUB_AGENTS } from "./requirements/sub-agents.ts";
import { TOOLS } from "./requirements/tools.ts";

/**
 * Everything the product has to do, so that nothing is forgotten and nothing is claimed too early.
 */
export const REQUIREMENTS: readonly RequirementGroup[] = [
  GUARANTEES,
  PROTOCOL_SURFACE,
  STREAMING,
  AGENT_LOOP,
  TOOLS,
  INPUT,
  SUB_AGENTS,
  CODING_AGENT,
  DISCOVERY,
  REMOTE_INVOCATION,
  INBOUND_SESSIONS,
  STORE_AND_TIMEOUTS,
  RESUME,
  SECURITY,
  OBSERVABILITY,
  CONFIGURATION,
  CONFORMANCE_V1,
  CONFORMANCE_V1_CLIENT,
  CONFORMANCE_V03,
  CONFORMANCE_V03_CLIENT,
  SEED_FORMS,
  LOOP_REGRESSIONS,
  SDK_PROBES,
];

const byId: ReadonlyMap<string, Requirement> = new Map(
  REQUIREMENTS.flatMap((group) => group.requirements).map((entry) => [entry.id, entry]),
);

/** The requirement with this id, or `undefined`, so that a mistyped citation can be detected. */
export function findRequirement(id: string): Requirement | undefined {
  return byId.get(id);
}
