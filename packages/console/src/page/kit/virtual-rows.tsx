import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { windowOf } from "./row-window.ts";

interface VirtualRowsProps {
  /** What the rows are. */
  readonly label: string;
  readonly count: number;
  /** The height of each row in pixels. */
  readonly rowHeight: number;
  /** The row that is kept in view when it changes. */
  readonly current?: number | undefined;
  readonly class?: string;
  readonly render: (index: number) => ComponentChildren;
}

/** A list of which only the visible rows exist. Rows have the same height. */
export function VirtualRows(props: VirtualRowsProps) {
  const { label, count, rowHeight, current, render } = props;
  const box = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState({ top: 0, height: 600 });
  const shown = windowOf({ count, rowHeight, ...scroll });
  const measure = (): void => {
    const { scrollTop, clientHeight } = box.current!;
    setScroll({ top: scrollTop, height: clientHeight });
  };
  useLayoutEffect(() => {
    const observer = new ResizeObserver(measure);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (current === undefined) return;
    const { scrollTop, clientHeight } = box.current!;
    const view = windowOf({ count, rowHeight, top: scrollTop, height: clientHeight });
    const top = view.scrollTopFor(current);
    if (top !== undefined) box.current!.scrollTop = top;
  }, [current, count, rowHeight]);
  return (
    <div
      ref={box}
      class={`rows ${props.class ?? ""}`}
      // A box that scrolls must be reachable by keyboard.
      tabIndex={0}
      role="list"
      aria-label={label}
      onScroll={measure}
    >
      <div class="rows-space" style={{ height: `${shown.totalHeight}px` }}>
        <div class="rows-window" style={{ transform: `translateY(${shown.offset}px)` }}>
          {Array.from({ length: shown.end - shown.start }, (_, place) => {
            const index = shown.start + place;
            return (
              <div
                key={index}
                role="listitem"
                class="row"
                style={{ height: `${rowHeight}px` }}
                aria-setsize={count}
                aria-posinset={index + 1}
              >
                {render(index)}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
