import { type FindProblem, problemAt, problemOf } from "./problem.ts";

/** How the properties of an object are checked. */
interface ObjectRules {
  readonly required: readonly string[];
  readonly properties: readonly (readonly [name: string, findProblem: FindProblem])[];
}

const NO_OBJECT = problemOf("must be an object");
const MISSING = problemOf("is required");

/**
 * Only what an object has itself counts, never what it inherits: otherwise every object had a
 * `constructor`. An optional property that is `undefined` is absent, a required one is not.
 */
export function objectProblem({ required, properties }: ObjectRules): FindProblem {
  const rules = properties.map(([name, findProblem]) => ({
    name,
    findProblem,
    isRequired: required.includes(name),
  }));
  return (value) => {
    if (!isObject(value)) return NO_OBJECT;
    for (const name of required) {
      if (!Object.hasOwn(value, name)) return problemAt(name, MISSING);
    }
    for (const { name, findProblem, isRequired } of rules) {
      const given = value[name];
      if (given === undefined && !isRequired) continue;
      const problem = findProblem(given);
      // Asked last, because it is asked of broken values alone then.
      if (problem !== undefined && Object.hasOwn(value, name)) return problemAt(name, problem);
    }
    return undefined;
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
