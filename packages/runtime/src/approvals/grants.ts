import {
  type AgentEnvironment,
  type AgentGrants,
  type ApprovalAnswer,
  EXTENSIONS,
  type KeyValueStore,
  type Message,
  type ToolGrant,
  approvalsIn,
} from "@convoke/protocol";
import { markedData } from "./open-request.ts";

/** Stores which tools are always approved. */
export interface GrantStore {
  isGranted(grant: Grant): boolean | Promise<boolean>;
  add(grant: Grant): void | Promise<void>;
  /** The grants for an agent, of all callers. Without it they cannot be listed. */
  all?(agent: string): readonly ToolGrant[] | Promise<readonly ToolGrant[]>;
  /** Takes a grant back. Returns false if there is none. Without it grants cannot be taken back. */
  remove?(grant: Grant): boolean | Promise<boolean>;
}

export interface Grant {
  readonly agent: string;
  readonly owner: string;
  readonly toolName: string;
}

/** Keeps grants in memory, for as long as the process runs. */
export function memoryGrants(): GrantStore {
  const granted = new Map<string, Grant & ToolGrant>();
  return {
    isGranted: (grant) => granted.has(grantKey(grant)),
    add: (grant) => {
      granted.set(grantKey(grant), { ...grant, grantedAt: new Date().toISOString() });
    },
    all: (agent) => [...granted.values()].filter((grant) => grant.agent === agent),
    remove: (grant) => granted.delete(grantKey(grant)),
  };
}

function grantKey({ agent, owner, toolName }: Grant): string {
  return JSON.stringify([agent, owner, toolName]);
}

/**
 * The grants of an agent: in the store that its author gave; otherwise in the database that all of
 * its processes share, or in memory if there is none.
 */
export class AgentGrantStore implements GrantStore {
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

  /** The grants for an agent, for a server that lists them and takes them back. */
  of(agent: string): AgentGrants {
    return {
      list: async () => (await this.#store.all?.(agent)) ?? [],
      remove: async (grant) => (await this.#store.remove?.({ agent, ...grant })) ?? false,
    };
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
    all: async (agent) =>
      (await values.list()).flatMap(({ key, value: grantedAt }) => {
        const [forAgent, owner, toolName] = JSON.parse(key) as readonly [string, string, string];
        return forAgent === agent ? [{ owner, toolName, grantedAt }] : [];
      }),
    remove: (grant) => values.delete(grantKey(grant)),
  };
}

/**
 * Matches the ids of the messages in which the loop records that a tool is approved from now on.
 */
export const GRANT_ID = /-grant-\d+$/;

/**
 * The tools that are approved for the rest of a conversation. This takes both the caller's answer
 * and the loop's record that it was accepted: an agent message alone may come from elsewhere, and a
 * caller's answer alone may have come too late. What is approved for always is in the store, and
 * only there, so that it can be taken back.
 */
export function grantedIn(conversation: readonly Message[]): ReadonlySet<string> {
  const answered = new Map<string, string>();
  const granted = new Set<string>();
  const { uri } = EXTENSIONS.approvals;
  for (const message of conversation) {
    if (message.role === "user") {
      for (const part of message.parts) {
        const answer = markedData(part, uri, "approval-answer") as ApprovalAnswer | null;
        if (answer?.option === "conversation") answered.set(answer.approvalId, answer.digest);
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
