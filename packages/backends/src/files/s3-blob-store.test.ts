import { hash, randomUUID } from "node:crypto";
import { describeBlobStore } from "@convoke/engine/testing";
import { expect, onTestFinished, test } from "vitest";
import { type S3BlobStoreOptions, createS3BlobStore } from "./s3-blob-store.ts";
import { KEYS, REGION, S3Server } from "./s3-server.suite.ts";
import { signRequest } from "./sign-request.ts";

/** Small enough that the contract needs several parts. */
const PART = 100_000;

async function aStore(
  options: Partial<S3BlobStoreOptions> = {},
): Promise<{ readonly server: S3Server; readonly store: ReturnType<typeof createS3BlobStore> }> {
  const server = new S3Server();
  const endpoint = await server.start();
  onTestFinished(() => server.close());
  const place = { bucket: "files", region: REGION, endpoint, partBytes: PART, prefix: "some/dir/" };
  return { server, store: createS3BlobStore({ ...place, ...KEYS, ...options }) };
}

describeBlobStore("blobs in an object store", async () => {
  const { store } = await aStore();
  return { store, [Symbol.asyncDispose]: async () => {} };
});

// With an object store of the machine, such as MinIO: its bucket must exist.
const { CONVOKE_TEST_S3: endpoint, CONVOKE_TEST_S3_BUCKET: bucket = "convoke-test" } = process.env;
if (endpoint !== undefined) {
  describeBlobStore(
    `blobs in the object store at ${endpoint}`,
    async () => ({
      store: createS3BlobStore({
        bucket,
        endpoint,
        prefix: `${randomUUID()}/`,
        accessKeyId: process.env["AWS_ACCESS_KEY_ID"] ?? "",
        secretAccessKey: process.env["AWS_SECRET_ACCESS_KEY"] ?? "",
      }),
      [Symbol.asyncDispose]: async () => {},
    }),
    12 * 1024 * 1024,
  );
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
test("a request is signed as in the example of AWS", () => {
  const headers = signRequest(
    {
      method: "GET",
      url: new URL("https://examplebucket.s3.amazonaws.com/test.txt"),
      headers: { range: "bytes=0-9" },
    },
    {
      accessKeyId: "AKIAIOSFODNN7EXAMPLE",
      secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      region: "us-east-1",
    },
    new Date("2013-05-24T00:00:00Z"),
  );

  expect(headers["authorization"]).toContain(
    "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
  );
});

test("a large content is sent in parts, and nothing is left of one that breaks off", async () => {
  const { server, store } = await aStore();
  const content = Buffer.alloc(2 * PART + 1, "x");
  const blob = { taskId: "t1", digest: hash("sha256", content, "hex"), size: content.length };

  await expect(store.put(blob, () => [content.subarray(1)])).rejects.toThrow("bytes instead of");
  expect([...server.objects.keys()]).toEqual([]);
  expect(server.requests.at(-1)).toMatch(/^DELETE .*uploadId=/);
  await store.put(blob, () => [content]);

  expect([...server.objects.keys()]).toEqual([`some/dir/t1/${blob.digest}`]);
  expect(server.requests.filter((one) => one.includes("partNumber=3"))).toHaveLength(1);
});

test("a wrong key is an error that names the answer of the object store and no secret", async () => {
  const { store } = await aStore({ secretAccessKey: "wrong" });
  const blob = { taskId: "t1", digest: hash("sha256", "", "hex"), size: 0 };

  await expect(store.put(blob, () => [])).rejects.toThrow(/answered 403/);
  await expect(store.get(blob)).rejects.toThrow("answered 403 SignatureDoesNotMatch");
});

test("without path style the bucket is in the host name, which an address cannot have", async () => {
  const blob = { taskId: "t1", digest: hash("sha256", "", "hex") };
  const aBucket = (endpoint: string) =>
    createS3BlobStore({ ...KEYS, bucket: "files", endpoint, pathStyle: false });

  await expect(aBucket("http://s3.invalid").get(blob)).rejects.toThrow("files.s3.invalid");
  expect(() => aBucket("http://127.0.0.1:9000")).toThrow("must have a host name");
});
