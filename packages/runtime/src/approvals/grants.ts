import {
  type AgentEnvironment,
  type ApprovalAnswer,
  EXTENSIONS,
  type KeyValueStore,
  type Message,
  approvalsIn,
} from "@convoke/protocol";
import { markedData } from "./open-request.ts";

/** Stores which tools are always approved. */
export interface GrantStore {
  isGranted(grant: Grant): boolean | Promise<boolean>;
  add(grant: Grant): void | Promise<void>;
}

export interface Grant {
  readonly agent: string;
  readonly owner: string;
  readonly toolName: string;
}

/** Keeps grants in memory, for as long as the process runs. */
export function memoryGrants(): GrantStore {
  const granted = new Set<string>();
  return {
    isGranted: (grant) => granted.has(grantKey(grant)),
    add: (grant) => void granted.add(grantKey(grant)),
  };
}

function grantKey({ agent, owner, toolName }: Grant): string {
  return JSON.stringify([agent, owner, toolName]);
}

/**
 * The grants of an agent: in the store that its author gave; otherwise in the database that all of
 * its processes share, or in memory if there is none.
 */
export class AgentGrants implements GrantStore {
  readonly #isGiven: boolean;
  #store: GrantStore;

  constructor(given: GrantStore | undefined) {
    this.#isGiven = given !== undefined;
    this.#store = given ?? memoryGrants();
  }

  prepare({ values, logger }: AgentEnvironment): void {
    if (!this.#isGiven && values !== undefined) {
      this.#store = sharedGrants(values("grants"), logger);
    }
  }

  isGranted(grant: Grant): boolean | Promise<boolean> {
    return this.#store.isGranted(grant);
  }

  add(grant: Grant): void | Promise<void> {
    return this.#store.add(grant);
  }
}

/** A grant that cannot be read or stored does not count: the caller is asked again. */
function sharedGrants(values: KeyValueStore, logger: AgentEnvironment["logger"]): GrantStore {
  return {
    async isGranted(grant) {
      try {
        return (await values.get(grantKey(grant))) !== undefined;
      } catch (error) {
        logger?.warn("lasting approvals cannot be read", { error });
        return false;
      }
    },
    async add(grant) {
      try {
        await values.put(grantKey(grant), new Date().toISOString());
      } catch (error) {
        logger?.warn("a lasting approval could not be stored", { error });
      }
    },
  };
}

/**
 * Matches the ids of the messages in which the loop records that a tool is approved from now on.
 */
export const GRANT_ID = /-grant-\d+$/;

/**
 * The tools that are approved for the rest of a conversation. This takes both the caller's answer
 * and the loop's record that it was accepted: an agent message alone may come from elsewhere, and a
 * caller's answer alone may have come too late.
 */
export function grantedIn(conversation: readonly Message[]): ReadonlySet<string> {
  const answered = new Map<string, string>();
  const granted = new Set<string>();
  const { uri } = EXTENSIONS.approvals;
  for (const message of conversation) {
    if (message.role === "user") {
      for (const part of message.parts) {
        const answer = markedData(part, uri, "approval-answer") as ApprovalAnswer | null;
        if (answer?.option === "conversation" || answer?.option === "always") {
          answered.set(answer.approvalId, answer.digest);
        }
      }
    } else if (GRANT_ID.test(message.messageId)) {
      const { inParts, inMetadata } = approvalsIn(message);
      for (const { id, digest, decision, tool } of [...inParts, ...inMetadata]) {
        const isTaken = decision?.outcome === "approved";
        if (isTaken && answered.get(id) === digest) granted.add(tool.name);
      }
    }
  }
  return granted;
}
