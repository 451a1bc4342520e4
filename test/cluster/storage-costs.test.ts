import { TASK_STATES, isTerminal } from "@convoke/protocol";
import { once } from "node:events";
import { expect, test, vi } from "vitest";
import { twoReplicas } from "./test-replica.ts";

test("a send that waits for the end of its task does not read the task", async () => {
  const { shared, a } = await twoReplicas({ run: () => "done" });
  const get = vi.spyOn(shared.inner.tasks, "get");
  const record = vi.spyOn(shared.inner.tasks, "record");

  const { id, status } = await a.send("go");

  expect(status.state).toBe("completed");
  expect(get).not.toHaveBeenCalledWith(id);
  expect(record).not.toHaveBeenCalledWith(id);
});

test("the open tasks of a caller are counted once for all messages that arrive together", async () => {
  const { shared, a } = await twoReplicas({ run: () => "done" });
  const list = vi.spyOn(shared.inner.tasks, "list");

  await Promise.all(Array.from({ length: 10 }, (_, place) => a.send(`message ${place}`)));

  const openStates = TASK_STATES.filter((state) => !isTerminal(state));
  expect(list).toHaveBeenCalledTimes(openStates.length);
});

test("a cancel at another process is posted after one read of the task, and before a claim", async () => {
  const { shared, a, b } = await twoReplicas({
    run: async ({ signal }) => void (await once(signal, "abort")),
  });
  const { id } = await a.send("go", {}, false);
  const get = vi.spyOn(shared.inner.tasks, "get");
  const record = vi.spyOn(shared.inner.tasks, "record");
  const post = vi.spyOn(b.backend.sharing, "post");
  const claim = vi.spyOn(b.backend.sharing, "claimTask");

  const { status } = await b.cancel(id);

  expect(status.state).toBe("canceled");
  const postedAt = post.mock.invocationCallOrder[0]!;
  const reads = [...get.mock.invocationCallOrder, ...record.mock.invocationCallOrder];
  expect(reads.filter((at) => at < postedAt)).toHaveLength(1);
  expect(claim.mock.invocationCallOrder.every((at) => at > postedAt)).toBe(true);
});
