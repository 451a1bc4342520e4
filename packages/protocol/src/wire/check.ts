import { Compile } from "typebox/schema";
import { invalidParams } from "../errors.ts";

/** A JSON Schema as a literal; only `wire/` knows schemas. */
type Schema = Readonly<Record<string, unknown>>;

/** What an error of the validator says about one place of the value. */
interface Problem {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: object;
  readonly message: string;
}

/** Accepts a value of the shape, or throws an error that names the field and what it must be. */
export type Check = (value: unknown, field: string) => void;

/** Compiles on first use: a server shows its card before it validates anything. */
export function checkOf(schema: Schema): Check {
  let validator: ReturnType<typeof Compile> | undefined;
  return (value, field) => {
    validator ??= Compile(schema);
    if (validator.Check(value)) return;
    const [, problems] = validator.Errors(value);
    throw explain(problems[0], field);
  };
}

function explain(problem: Problem | undefined, root: string) {
  if (problem === undefined) return invalidParams(root, "is malformed");
  const field = fieldName(root, problem.instancePath);
  const params = problem.params as Readonly<Record<string, unknown>>;
  switch (problem.keyword) {
    case "required":
      return invalidParams(
        fieldIn(field, (params["requiredProperties"] as string[])[0]),
        "is required",
      );
    case "type":
      return invalidParams(field, `must be ${article(params["type"])}`);
    case "const":
      return invalidParams(field, `must be ${JSON.stringify(params["allowedValue"])}`);
    case "enum":
      return invalidParams(
        field,
        `must be one of ${(params["allowedValues"] as unknown[]).join(", ")}`,
      );
    case "minItems":
    case "minLength":
      return invalidParams(field, "must not be empty");
    default:
      return invalidParams(field, problem.message);
  }
}

function article(type: unknown): string {
  const name = String(type);
  return /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`;
}

/** `/message/parts/0` below `params` reads `message.parts[0]`. */
function fieldName(root: string, pointer: string): string {
  let name = root;
  for (const step of pointer.split("/").slice(1)) {
    name = /^\d+$/.test(step) ? `${name}[${step}]` : fieldIn(name, step);
  }
  return name === "" ? "params" : name;
}

/** The name of a field inside another. `params` is where a caller's own fields begin, so it is not named. */
export function fieldIn(path: string, step: string | undefined): string {
  return path === "" || path === "params" ? (step ?? "params") : `${path}.${step}`;
}
