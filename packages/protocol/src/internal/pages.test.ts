import { expect, test } from "vitest";
import { type PageRequest, type PagesOptions, readPages } from "./pages.ts";

/** Reads a list whose pages name the tokens that the server chooses. */
async function tokensAsked(
  next: (count: number) => unknown,
  options: PagesOptions = {},
): Promise<readonly PageRequest[]> {
  const asked: PageRequest[] = [];
  const read = (request: PageRequest) => {
    asked.push(request);
    return Promise.resolve({ nextPageToken: next(asked.length) });
  };
  for await (const _ of readPages(read, options));
  return asked;
}

test("pages are read in order until one names no other", async () => {
  expect(await tokensAsked((count) => ["a", "b", ""][count - 1])).toEqual([
    {},
    { pageToken: "a" },
    { pageToken: "b" },
  ]);
});

test.each([undefined, null, 5, "", {}])("a token that is %j ends the list", async (token) => {
  expect(await tokensAsked(() => token)).toEqual([{}]);
});

test("a token that was named before ends the list, also after others", async () => {
  expect(await tokensAsked(() => "same")).toHaveLength(2);
  expect(await tokensAsked((count) => ["a", "b", "c"][count % 3])).toHaveLength(4);
});

test("a list that never ends is read to the limit", async () => {
  const endless = (count: number): string => `page ${count}`;

  expect(await tokensAsked(endless)).toHaveLength(1000);
  expect(await tokensAsked(endless, { maxPages: 3 })).toHaveLength(3);
});

test("beyond the limit is an error if the caller needs the whole list", async () => {
  const options = { maxPages: 3, tooMany: (pages: number) => new Error(`more than ${pages}`) };

  expect(await tokensAsked((count) => (count < 3 ? `${count}` : ""), options)).toHaveLength(3);
  await expect(tokensAsked((count) => `${count}`, options)).rejects.toThrow("more than 3");
});
