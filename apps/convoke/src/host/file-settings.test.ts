import { expect, test } from "vitest";
import { readFiles } from "./file-settings.ts";

test("the environment says where files are, and how they are shown, before the configuration does", () => {
  const env = {
    CONVOKE_FILES: "./files",
    CONVOKE_FILES_ABOVE: "0",
    CONVOKE_FILES_INLINE: "1000",
    CONVOKE_FILES_SHOW: "links",
  };

  expect(readFiles(env, { show: "inline", linkMs: 5 })).toEqual({
    store: expect.objectContaining({}),
    storeAbove: 0,
    inlineBytes: 1000,
    show: "links",
    linkMs: 5,
  });
  expect(readFiles({ CONVOKE_FILES: "" })).toEqual({});
});

test.each([
  [{ CONVOKE_FILES: "s3://bucket/prefix" }, "AWS_ACCESS_KEY_ID"],
  [{ CONVOKE_FILES: "s3:bucket" }, "s3://bucket/prefix"],
  [
    { CONVOKE_FILES: "s3://BUCKET", AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" },
    "bucket must be the name of a bucket",
  ],
  [{ CONVOKE_FILES_ABOVE: "64k" }, "CONVOKE_FILES_ABOVE must be a number of bytes"],
  [{ CONVOKE_FILES_SHOW: "all" }, "CONVOKE_FILES_SHOW must be inline or links"],
])("%j is rejected with a sentence that says what to do", (env, problem) => {
  expect(() => readFiles(env)).toThrow(problem);
});
