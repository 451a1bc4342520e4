import {
  type Mutant,
  type Selector,
  argument,
  call,
  inFunction,
  operand,
  returned,
  value,
} from "./plant-fault.ts";

/** The template literal of a constant that contains the text. */
function template(has: string): Selector {
  return {
    name: `template with ${has}`,
    find: (nodes, textOf) =>
      nodes.filter((node) => node.type === "TemplateLiteral" && textOf(node).includes(has)),
  };
}

/** Replaces a part of a statement. */
function inSql(constant: string, part: string, by: string): Mutant {
  return {
    package: "backends/postgres",
    in: constant,
    at: template(part),
    to: (sql) => sql.replace(part, by),
    change: `${part.trim().replaceAll(/\s+/g, " ")} → ${by}`,
  };
}

/** Faults that let two processes write to one task, or lose what one of them wrote for the other. */
export const FENCE_MUTANTS: readonly (readonly Mutant[])[] = [
  // The place in the log is not unique.
  [inSql("MIGRATIONS", ",\n    PRIMARY KEY (task, first)", "")],
  // A step does not say what it follows, or nobody compares it.
  [
    ...inFunction("engine", "TaskWriter.#prepare", [value("after"), "undefined"]),
    ...inFunction("engine", "isExpected", [returned("isSameEpoch"), "true"]),
  ],
  // The predecessor of a segment is not looked up.
  [inSql("APPEND", "AND ${HEAD} = s.first - 1", "")],
  // A claim leaves the epoch as it is.
  [inSql("CLAIM", "epoch = t.epoch + 1", "epoch = t.epoch")],
  // A mailbox entry is not removed with the event that it becomes.
  [
    inSql("HANDLED_ENTRIES", "b.task = done.n AND b.id", "false AND b.id"),
    ...inFunction("engine", "joins", [operand("mailbox"), "true"]),
  ],
  // Processes hear of each other by hints only.
  [
    ...inFunction("backends/postgres", "FollowedTasks.constructor", [call("#look"), "undefined"]),
    ...inFunction("backends/postgres", "PostgresSharing.constructor", [
      call("#lookForMail"),
      "undefined",
    ]),
  ],
  // A process does not notice that it has lost a task, or that it has got one.
  [
    ...inFunction("engine", "TaskWriter.catchUp", [value("this.#epoch"), "epoch"]),
    ...inFunction("engine", "SharedTasks.#claimAll", [call("#lookForStrays"), "[]"]),
    ...inFunction("backends/postgres", "ReadFacts.#readEvents", [
      argument("filter", 0),
      "() => true",
    ]),
  ],
];
