import fc, { type Arbitrary } from "fast-check";
import { Compile } from "typebox/schema";
import { describe, expect, test } from "vitest";
import * as approvals from "../extensions/approvals.ts";
import { BUDGET, BUDGET_REPORT } from "../extensions/budget.ts";
import { CLIENT_TOOLS, TOOL_RESULT } from "../extensions/client-tools.ts";
import { RESUMPTION_CURSOR } from "../extensions/extensions.ts";
import { SKILL_CHOICE } from "../extensions/skill.ts";
import { modelOf, overTheWire } from "../testing/arbitraries.suite.ts";
import { CODECS, PROTO_CODECS } from "../wire/codecs.ts";
import * as v0_3 from "../wire/v0_3/schemas.ts";
import * as v0_3_proto from "../wire/v0_3_proto/schemas.ts";
import * as v1 from "../wire/v1/schemas.ts";
import { almost, anything, schemas } from "./arbitrary-schemas.suite.ts";
import { type Problem, compileSchema } from "./compile-schema.ts";
import { type Schema, id } from "./schema.ts";

// Another implementation of JSON Schema agrees with ours: the same values are rejected, with the
// same first problem at the same path.

type Named = readonly [name: string, schema: Schema];

/** Every schema that the package uses. */
const OURS: readonly Named[] = [
  ...named("0.3", v0_3),
  ...named("0.3 as ProtoJSON", v0_3_proto),
  ...named("1.0", v1),
  ...named("extensions", {
    APPROVAL: approvals.APPROVAL,
    APPROVAL_ANSWER: approvals.APPROVAL_ANSWER,
    TEXT_PREVIEW: approvals.APPROVAL_PREVIEW.text,
    DIFF_PREVIEW: approvals.APPROVAL_PREVIEW.diff,
    BUDGET,
    BUDGET_REPORT,
    CLIENT_TOOLS,
    TOOL_RESULT,
    RESUMPTION_CURSOR,
    SKILL_CHOICE,
  }),
];

function named(where: string, all: Readonly<Record<string, Schema>>): readonly Named[] {
  return Object.entries(all).map(([name, schema]) => [`${name} of ${where}`, schema]);
}

/**
 * Both checkers of a schema. The reasons for rejections are recorded, to make sure that the test
 * covers enough.
 */
class Comparison {
  readonly #ours;
  readonly #theirs;
  readonly #seen: Set<string>;

  constructor(schema: Schema, seen: Set<string>) {
    this.#ours = compileSchema(schema);
    this.#theirs = Compile(schema);
    this.#seen = seen;
  }

  compare(value: unknown): void {
    const isFine = this.#theirs.Check(value);
    const first = isFine ? undefined : this.#theirs.Errors(value)[1][0]!;
    this.#seen.add(first?.keyword ?? "fine");
    expect(pointed(this.#ours(value))).toEqual(first && inOurWords(first));
  }
}

/** Their problem in our format. */
function inOurWords({ keyword, instancePath, params, message }: TheirProblem) {
  const facts = params as Readonly<Record<string, unknown>>;
  switch (keyword) {
    case "required": {
      const [name] = facts["requiredProperties"] as readonly string[];
      return { pointer: `${instancePath}/${escaped(name!)}`, text: "is required" };
    }
    case "type": {
      const type = String(facts["type"]);
      const article = /^[aeiou]/.test(type) ? "an" : "a";
      return { pointer: instancePath, text: `must be ${article} ${type}` };
    }
    case "const":
      return { pointer: instancePath, text: `must be ${JSON.stringify(facts["allowedValue"])}` };
    case "enum": {
      const choices = facts["allowedValues"] as readonly unknown[];
      return { pointer: instancePath, text: `must be one of ${choices.join(", ")}` };
    }
    case "minItems":
    case "minLength":
      return { pointer: instancePath, text: facts["limit"] === 1 ? "must not be empty" : message };
    case "pattern": {
      const isId = String(facts["pattern"]).includes(String(id.pattern));
      return { pointer: instancePath, text: isId ? id.mismatch : message };
    }
    default:
      return { pointer: instancePath, text: message };
  }
}

type TheirProblem = ReturnType<ReturnType<typeof Compile>["Errors"]>[1][number];

function pointed(problem: Problem | undefined) {
  if (problem === undefined) return undefined;
  return { pointer: problem.path.map((step) => `/${escaped(step)}`).join(""), text: problem.text };
}

function escaped(step: string | number): string {
  return String(step).replaceAll("~", "~0").replaceAll("/", "~1");
}

const schemasWithValues = schemas.chain((schema) =>
  fc.tuple(fc.constant(schema), fc.array(almost(schema), { minLength: 4, maxLength: 8 })),
);

test("for every schema and every value", () => {
  const seen = new Set<string>();

  fc.assert(
    fc.property(schemasWithValues, ([schema, values]) => {
      const comparison = new Comparison(schema, seen);
      for (const value of values) comparison.compare(value);
    }),
    { numRuns: 250 },
  );

  const keywords =
    "const enum fine maxItems maxLength maximum minItems minLength minimum pattern required type";
  expect([...seen].toSorted().join(" ")).toBe(keywords);
});

test.each(OURS)("%s, with values that are generated for it", (_, schema) => {
  const seen = new Set<string>();
  const comparison = new Comparison(schema, seen);

  fc.assert(
    fc.property(almost(schema), (value) => comparison.compare(value)),
    { numRuns: 80 },
  );

  expect(seen.size).toBeGreaterThan(1);
});

describe.each([
  ["0.3", CODECS["0.3"], v0_3],
  ["0.3 as ProtoJSON", PROTO_CODECS["0.3"], v0_3_proto],
  ["1.0", CODECS["1.0"], v1],
] as const)("a request of %s", (where, codec, { MESSAGE, SEND }) => {
  const requests = modelOf(codec.dialect).sendMessage.map(
    (request) => overTheWire(codec.encodeSendMessage(request)) as Sent,
  );

  test("is valid as it is written", () => {
    const [send, message] = [compileSchema(SEND), compileSchema(MESSAGE)];

    fc.assert(
      fc.property(requests, (request) => {
        expect(send(request)).toBeUndefined();
        expect(message(request.message)).toBeUndefined();
      }),
    );
  });

  test("is rejected alike if something in it is broken, by every schema", () => {
    const seen = new Set<string>();
    const all = OURS.map(([, schema]) => new Comparison(schema, seen));

    fc.assert(
      fc.property(requests, damage, (request, how) => {
        const broken = damaged(request, how) as Partial<Sent> | null | undefined;
        for (const comparison of all) {
          comparison.compare(broken);
          comparison.compare(broken?.message);
        }
      }),
      { numRuns: 80 },
    );

    // Which of them occur is random.
    expect(seen.size, where).toBeGreaterThan(1);
  });
});

interface Sent {
  readonly message: unknown;
}

interface Damage {
  readonly place: number;
  /** Marks a removal of the value. */
  readonly instead: readonly [unknown] | undefined;
}

const damage: Arbitrary<Damage> = fc.record({
  place: fc.nat({ max: 30 }),
  instead: fc.option(fc.tuple(anything), { nil: undefined }),
});

/** The value with one of its positions broken, counted from the outside. */
function damaged(value: unknown, { place, instead }: Damage): unknown {
  const places: { readonly owner: Record<string, unknown>; readonly key: string }[] = [];
  const root = { value: structuredClone(value) };
  const visit = (owner: Record<string, unknown>): void => {
    for (const [key, inner] of Object.entries(owner)) {
      places.push({ owner, key });
      if (typeof inner === "object" && inner !== null) visit(inner as Record<string, unknown>);
    }
  };
  visit(root);
  const { owner, key } = places[place % places.length]!;
  if (instead === undefined) delete owner[key];
  else owner[key] = instead[0];
  return root.value;
}
