import { type ComponentChildren, Fragment } from "preact";
import { useState } from "preact/hooks";
import { formatCount } from "./time.tsx";

interface SomeOfProps<Item> {
  readonly items: readonly Item[];
  /** How many are shown at first, and how many more each time. */
  readonly limit: number;
  readonly render: (item: Item, place: number) => ComponentChildren;
}

/** The first of many things, with a way to see more. An agent may have written a million of them. */
export function SomeOf<Item>({ items, limit, render }: SomeOfProps<Item>) {
  const [count, setCount] = useState(limit);
  return (
    <>
      {items.slice(0, count).map((item, place) => (
        <Fragment key={place}>{render(item, place)}</Fragment>
      ))}
      {items.length > count && (
        <button type="button" class="more" onClick={() => setCount(count + limit)}>
          Show more ({formatCount(items.length - count)} left)
        </button>
      )}
    </>
  );
}
