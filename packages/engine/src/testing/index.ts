// Contract suites for the ports of this package. They need vitest, so only tests import them.

export { describeBackend } from "./describe-backend.ts";
export { describeBlobStore } from "./describe-blob-store.ts";
export { describeKeyValues } from "./describe-key-values.ts";
export { describeHints, describeSharing } from "./describe-sharing.ts";
export type { SharedStorage, SharingBackend } from "./sharing-contract/shared-storage.ts";
