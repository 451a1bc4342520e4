import { describe } from "vitest";
import { type AgentScopes, describeAgents } from "./backend-contract/agents.ts";
import { describeAppending } from "./backend-contract/appending.ts";
import { describeClosing } from "./backend-contract/closing.ts";
import { describeCompaction } from "./backend-contract/compaction.ts";
import { describeContexts } from "./backend-contract/contexts.ts";
import { describeFencing } from "./backend-contract/fencing.ts";
import type { OpenBackend } from "./backend-contract/fixtures.ts";
import { describeLists } from "./backend-contract/lists.ts";
import { describeLog } from "./backend-contract/log.ts";
import { describeMessages } from "./backend-contract/messages.ts";
import { describeNeighbours } from "./backend-contract/neighbours.ts";
import { describePruning } from "./backend-contract/pruning.ts";
import { describePushes } from "./backend-contract/pushes.ts";
import { describeRecords } from "./backend-contract/records.ts";
import { describeRemoval } from "./backend-contract/removal.ts";
import { describeWaking } from "./backend-contract/waking.ts";
import { describeWatching } from "./backend-contract/watching.ts";

/**
 * The contract of `Backend`. Every implementation runs the same tests. `open` must return an empty
 * backend each time; the suite closes it.
 */
export function describeBackend(name: string, open: OpenBackend, options: AgentScopes = {}): void {
  describe(name, () => {
    describeLog(open);
    describeWatching(open);
    describeFencing(open);
    describeAppending(open);
    describeMessages(open);
    describeNeighbours(open);
    describeRecords(open);
    describeLists(open);
    describeAgents(open, options);
    describeWaking(open);
    describePushes(open);
    describePruning(open);
    describeRemoval(open);
    describeContexts(open);
    describeCompaction(open);
    describeClosing(open);
  });
}
