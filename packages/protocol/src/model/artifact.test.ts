import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type A2AArtifact, appendChunk } from "./task.ts";
import { type A2APart, joinParts, textPart } from "./part.ts";

const part: fc.Arbitrary<A2APart> = fc.oneof(
  fc.string({ maxLength: 3 }).map(textPart),
  fc.nat(9).map((row): A2APart => ({ kind: "data", data: { row } })),
  fc.constant<A2APart>({ kind: "text", text: "m", metadata: { of: "its own" } }),
);
const chunk = fc.record({
  parts: fc.array(part, { maxLength: 4 }),
  name: fc.option(fc.constantFrom("one", "two"), { nil: undefined }),
});

/** The same without any memory of what was appended. */
function plainly(artifact: A2AArtifact, more: A2AArtifact): A2AArtifact {
  return { ...artifact, ...more, parts: joinParts([...artifact.parts], more.parts) };
}

const rows = (count: number): readonly A2APart[] =>
  Array.from({ length: count }, (_, row) => ({ kind: "data", data: { row } }));

describe("an artifact with another chunk", () => {
  test("equals the result of copying, at any time and from any version", () => {
    fc.assert(
      fc.property(
        fc.nat(90),
        fc.array(fc.record({ chunk, isRead: fc.boolean(), back: fc.nat(3) }), { maxLength: 30 }),
        (count, steps) => {
          const first = { artifactId: "a", parts: rows(count) };
          const versions: (readonly [A2AArtifact, A2AArtifact])[] = [[first, first]];
          for (const { chunk: more, isRead, back } of steps) {
            const [ours, theirs] = versions.at(-1 - Math.min(back, versions.length - 1))!;
            const { name, parts } = more;
            const added = { artifactId: "a", parts, ...(name !== undefined && { name }) };
            if (isRead) expect(ours.parts).toEqual(theirs.parts);
            versions.push([appendChunk(ours, added), plainly(theirs, added)]);
          }
          for (const [ours, theirs] of versions.toReversed()) {
            expect(ours).toEqual(theirs);
            expect(JSON.parse(JSON.stringify(ours))).toEqual(theirs);
          }
        },
      ),
    );
  });

  test("may be frozen, copied and cloned like any other", () => {
    const more = { artifactId: "a", parts: rows(1) };
    const artifact = Object.freeze(appendChunk({ artifactId: "a", parts: rows(100) }, more));
    const parts = [...rows(100), ...rows(1)];

    expect({ ...artifact }).toEqual({ artifactId: "a", parts });
    expect(structuredClone(artifact)).toEqual({ artifactId: "a", parts });
    expect(appendChunk(artifact, more).parts).toEqual([...parts, ...rows(1)]);
  });
});
