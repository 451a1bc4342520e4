import { describeBlobStore } from "../testing/describe-blob-store.ts";
import { MemoryBlobStore } from "./memory-blob-store.ts";

describeBlobStore("blobs in memory", async () => ({
  store: new MemoryBlobStore(),
  [Symbol.asyncDispose]: async () => {},
}));
