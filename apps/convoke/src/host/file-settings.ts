import { createFolderBlobStore, createS3BlobStore } from "@convoke/backends/files";
import type { BlobStore, FileOptions } from "@convoke/engine";
import { resolve } from "node:path";
import { StartError } from "./config.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Where large files are kept, and how clients get them. The environment changes what the configuration says. */
export function readFiles(env: Environment, configured: FileOptions = {}): FileOptions {
  const store = readStore(env, env["CONVOKE_FILES"] || undefined);
  const storeAbove = readBytes("CONVOKE_FILES_ABOVE", env["CONVOKE_FILES_ABOVE"]);
  const inlineBytes = readBytes("CONVOKE_FILES_INLINE", env["CONVOKE_FILES_INLINE"]);
  const show = env["CONVOKE_FILES_SHOW"] || undefined;
  if (show !== undefined && show !== "inline" && show !== "links") {
    throw new StartError(
      `CONVOKE_FILES_SHOW must be inline or links, not ${JSON.stringify(show)}.`,
    );
  }
  return {
    ...configured,
    ...(store && { store }),
    ...(storeAbove !== undefined && { storeAbove }),
    ...(inlineBytes !== undefined && { inlineBytes }),
    ...(show && { show }),
  };
}

/** A folder, or a bucket as in `s3://bucket/prefix`. */
function readStore(env: Environment, place: string | undefined): BlobStore | undefined {
  if (place === undefined) return undefined;
  if (!place.startsWith("s3:")) return createFolderBlobStore(resolve(place));
  const [, bucket, prefix = ""] = /^s3:\/\/([^/]+)(?:\/(.*))?$/.exec(place) ?? [];
  const accessKeyId = env["AWS_ACCESS_KEY_ID"] || undefined;
  const secretAccessKey = env["AWS_SECRET_ACCESS_KEY"] || undefined;
  if (bucket === undefined || accessKeyId === undefined || secretAccessKey === undefined) {
    throw new StartError(
      "CONVOKE_FILES must be a folder or s3://bucket/prefix, and a bucket needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
    );
  }
  try {
    return createS3BlobStore({
      bucket,
      prefix: prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`,
      accessKeyId,
      secretAccessKey,
      sessionToken: env["AWS_SESSION_TOKEN"] || undefined,
      region: env["AWS_REGION"] || undefined,
      endpoint: env["AWS_ENDPOINT_URL_S3"] || undefined,
    });
  } catch (cause) {
    throw new StartError(`CONVOKE_FILES cannot be used: ${(cause as Error).message}.`, { cause });
  }
}

function readBytes(name: string, value: string | undefined): number | undefined {
  if (value === undefined || value === "") return undefined;
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw new StartError(`${name} must be a number of bytes, not ${JSON.stringify(value)}.`);
}
