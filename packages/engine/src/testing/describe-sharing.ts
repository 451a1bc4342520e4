import { describe } from "vitest";
import { describeClaims } from "./sharing-contract/claims.ts";
import { describeHearing } from "./sharing-contract/hearing.ts";
import { describeHosts } from "./sharing-contract/hosts.ts";
import { describeMailbox } from "./sharing-contract/mailbox.ts";
import type { OpenStorage } from "./sharing-contract/shared-storage.ts";

/**
 * The contract of `Sharing`, for backends on one storage. `open` must return an empty storage each
 * time; the suite closes it.
 */
export function describeSharing(name: string, open: OpenStorage): void {
  describe(name, () => {
    describeClaims(open);
    describeHosts(open);
    describeMailbox(open);
    describeHearing(open);
  });
}

/** Only that part of the contract that is about hints: for another way to send them. */
export function describeHints(name: string, open: OpenStorage): void {
  describe(name, () => describeHearing(open));
}
