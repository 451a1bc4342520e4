// Where large files are kept. Everything exported here is public API.

export { createFolderBlobStore } from "./folder-blob-store.ts";
export { type S3BlobStoreOptions, createS3BlobStore } from "./s3-blob-store.ts";
export type { S3Credentials } from "./sign-request.ts";
