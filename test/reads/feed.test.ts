import { expect, test } from "vitest";
import { useReadServer } from "./a-read-server.ts";

const server = useReadServer();

interface Change {
  readonly id: string;
  readonly state: string;
  readonly head: number;
  readonly owner?: string;
}

/** The changes of a feed up to the first one with `state`. */
async function until(feed: AsyncGenerator<Change>, state: string): Promise<readonly Change[]> {
  const changes: Change[] = [];
  for await (const change of feed) {
    changes.push(change);
    if (change.state === state) return changes;
  }
  throw new Error("the feed has ended");
}

test("a feed has the newest status of each task that changed, of the owners that are meant", async () => {
  const anns = await server.start("ann");
  const own = await server.open<Change>("ann", "feed");
  const all = await server.open<Change>("operator", "feed?owner=*");
  const { id: bobs } = await server.start("bob");
  await server.finish("ann", anns);

  const seen = await until(own, "completed");
  const seenByAll = await until(all, "completed");

  const { head } = await server.log("ann", anns.id);
  expect(seen.map(({ id }) => id)).toEqual(seen.map(() => anns.id));
  expect(seen.at(-1)).toEqual({ id: anns.id, state: "completed", head });
  expect(seenByAll.at(-1)).toEqual({ id: anns.id, state: "completed", head, owner: "ann" });
  expect(seenByAll.map(({ id, owner }) => `${id} ${owner}`)).toContain(`${bobs} bob`);
});

test("a caller without the role gets no feed of all owners", async () => {
  expect((await server.fetch("ann", "feed?owner=*")).status).toBe(403);
});
