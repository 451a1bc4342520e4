/** Browsers limit the height of elements: Firefox to about 17.9 million pixels. */
const MAX_HEIGHT = 8_000_000;

/** How many rows are made before and after the visible ones. */
const MARGIN = 6;

interface View {
  readonly count: number;
  readonly rowHeight: number;
  /** How far the list is scrolled, and the height of its visible part. */
  readonly top: number;
  readonly height: number;
}

/** Which rows of a list exist, and where. */
export interface RowWindow {
  readonly start: number;
  /** After the last one. */
  readonly end: number;
  /** Where the first of them is. */
  readonly offset: number;
  readonly totalHeight: number;
  /** How far to scroll to see a row; `undefined` if it is visible. */
  scrollTopFor(index: number): number | undefined;
}

/**
 * The rows that are visible. The position of a list that is higher than browsers allow means a row
 * and not a pixel, so a million rows work.
 */
export function windowOf({ count, rowHeight, top, height }: View): RowWindow {
  const fullHeight = count * rowHeight;
  const totalHeight = Math.min(fullHeight, MAX_HEIGHT);
  const scrollable = Math.max(1, totalHeight - height);
  const fullScrollable = Math.max(1, fullHeight - height);
  // 1 unless the list is too high.
  const scale = totalHeight === fullHeight ? 1 : fullScrollable / scrollable;
  const place = Math.min(top, scrollable) * scale;
  const first = Math.floor(place / rowHeight);
  const last = Math.ceil((place + height) / rowHeight);
  const start = Math.max(0, Math.min(first, count) - MARGIN);
  const end = Math.min(count, last + MARGIN);
  return {
    start,
    end,
    offset: Math.min(top, scrollable) - (place - start * rowHeight),
    totalHeight,
    scrollTopFor: (index) => {
      const rowTop = index * rowHeight;
      if (rowTop >= place && rowTop + rowHeight <= place + height) return undefined;
      return Math.max(0, (rowTop - height / 2 + rowHeight / 2) / scale);
    },
  };
}
