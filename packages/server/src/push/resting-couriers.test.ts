import { expect, test } from "vitest";
import { RestingCouriers } from "./resting-couriers.ts";

test("those that rest for the longest forget, and whoever stopped is not asked", () => {
  const forgotten: number[] = [];
  const couriers = Array.from({ length: 260 }, (_, place) => ({
    forget: () => void forgotten.push(place),
  }));
  const resting = new RestingCouriers();
  for (const courier of couriers.slice(0, 256)) resting.add(courier);
  expect(forgotten).toEqual([]);

  // The first rests again, and the second is over.
  resting.add(couriers[0]!);
  resting.delete(couriers[1]!);
  for (const courier of couriers.slice(256)) resting.add(courier);

  expect(forgotten).toEqual([2, 3, 4]);
});
