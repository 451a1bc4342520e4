import { expect, test } from "vitest";
import { createDeliveryId } from "./notification.ts";

const record = {
  taskId: "t1",
  id: "mine",
  owner: "ann",
  config: "{}",
  generation: 2,
  cursor: 0,
  state: "active",
} as const;

test("identifies the task, the config, its generation, and the event", () => {
  expect(createDeliveryId(record, { seq: 7 })).toBe("t1.mine.2.7");
  expect(createDeliveryId(record, { seq: 7, epoch: 9 })).toBe("t1.mine.2.9.7");
});

test.each(["x".repeat(256), "é".repeat(200), "a b\r\nc"])(
  "is short and safe for the id %j",
  (id) => {
    expect(createDeliveryId({ ...record, id }, { seq: 7 })).toMatch(
      /^t1\.[\w%.!~*'()-]{1,64}\.2\.7$/,
    );
  },
);
