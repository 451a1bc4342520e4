import { DEFAULT_LIMITS, type Limits } from "@convoke/engine";
import { didYouMean } from "../nearest.ts";
import { commaList } from "./comma-list.ts";
import { countOf } from "./count.ts";
import { StartError } from "./start-error.ts";

const NAMES = Object.keys(DEFAULT_LIMITS);

/** Reads `parts=10,openTasks=5`. Limits that are not named keep their defaults. */
export function readLimits(value: string | undefined): Partial<Limits> {
  return Object.fromEntries(commaList(value).map(readLimit));
}

function readLimit(entry: string): readonly [name: string, most: number] {
  const [name = "", ...rest] = entry.split("=").map((word) => word.trim());
  if (!NAMES.includes(name)) {
    const guess = didYouMean(name, NAMES);
    throw new StartError(
      `CONVOKE_LIMITS has no limit ${JSON.stringify(name)}.${guess} The limits are ${NAMES.join(", ")}.`,
    );
  }
  const most = countOf(rest.join("="));
  if (most !== undefined) return [name, most];
  throw new StartError(
    `CONVOKE_LIMITS must set ${name} to a whole number above 0, as in ${name}=10, not ${JSON.stringify(entry)}. ` +
      `The limits are ${NAMES.join(", ")}.`,
  );
}
