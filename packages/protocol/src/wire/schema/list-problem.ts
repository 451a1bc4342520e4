import { type FindProblem, problemAt, problemOf } from "./problem.ts";
import type { ListSchema } from "./schema.ts";

/** How a list is checked. */
interface ListRules extends Pick<ListSchema, "minItems" | "maxItems"> {
  readonly findInItem: FindProblem | undefined;
}

const NO_LIST = problemOf("must be an array");

/** The items come before their number: an error of one of them says more. */
export function listProblem({
  findInItem,
  minItems = 0,
  maxItems = Infinity,
}: ListRules): FindProblem {
  const tooFew = problemOf(
    minItems === 1 ? "must not be empty" : `must not have fewer than ${minItems} items`,
  );
  const tooMany = problemOf(`must not have more than ${maxItems} items`);
  return (value) => {
    if (!Array.isArray(value)) return NO_LIST;
    if (findInItem !== undefined) {
      const items: readonly unknown[] = value;
      for (let place = 0; place < items.length; place++) {
        const problem = findInItem(items[place]);
        // A hole is no item. JSON has none, but callers in this process may.
        if (problem !== undefined && Object.hasOwn(items, place)) return problemAt(place, problem);
      }
    }
    if (value.length < minItems) return tooFew;
    return value.length > maxItems ? tooMany : undefined;
  };
}
