import { type SourceNode, findDeclaration, nodesIn } from "./source-tree.ts";

/** Finds the expression of a function that a fault replaces. */
export interface Selector {
  /** The description. */
  readonly name: string;
  /** All matches; unless there is exactly one the table of mutants is out of date. */
  readonly find: (nodes: readonly SourceNode[], textOf: TextOf) => readonly SourceNode[];
}

type TextOf = (node: SourceNode) => string;

/** One fault in the code of the gate or around it, which the tests must find. */
export interface Mutant {
  readonly package: string;
  /** The function or method, in any file: see `findDeclaration`. */
  readonly in: string;
  readonly at: Selector;
  /** The replacement of the expression. */
  readonly to: (expression: string) => string;
  /** What changes, if the whole expression is too long to show. */
  readonly change?: string;
}

/** A source file with a fault in it. */
export interface PlantedFault {
  /** Relative to the root of the repository. */
  readonly file: string;
  readonly sound: string;
  readonly faulty: string;
  /** The description of the change. */
  readonly name: string;
}

type Fault = readonly [at: Selector, to: string | typeof negated];

/**
 * The faults of one function, found by its name, so that sources can be changed and moved freely.
 */
export function inFunction(
  packageName: string,
  name: string,
  ...faults: readonly Fault[]
): readonly Mutant[] {
  return faults.map(([at, to]) => ({
    package: packageName,
    in: name,
    at,
    to: typeof to === "string" ? () => to : to,
  }));
}

export function negated(expression: string): string {
  return `!(${expression})`;
}

/** The condition of an `if` that contains the text. */
export function condition(has: string): Selector {
  return {
    name: `condition with ${has}`,
    find: (nodes, textOf) =>
      ofType(nodes, "IfStatement")
        .map((node) => node["test"] as SourceNode)
        .filter((test) => textOf(test).includes(has)),
  };
}

/** The operand of `&&`, `||` or `??` that contains the text. */
export function operand(has: string): Selector {
  return {
    name: `operand with ${has}`,
    find: (nodes, textOf) =>
      ofType(nodes, "LogicalExpression")
        .flatMap(({ left, right }) => [left as SourceNode, right as SourceNode])
        .filter((node) => node.type !== "LogicalExpression" && textOf(node).includes(has)),
  };
}

/** The value of a variable, a property of an object or a field of `this`. */
export function value(name: string, has = ""): Selector {
  return {
    name: `value of ${name}`,
    find: (nodes, textOf) =>
      [
        ...ofType(nodes, "VariableDeclarator").map(({ id, init }) => [id, init]),
        ...ofType(nodes, "AssignmentExpression").map(({ left, right }) => [left, right]),
        ...ofType(nodes, "ObjectExpression")
          .flatMap(({ properties }) => ofType(properties as readonly SourceNode[], "Property"))
          .map((node) => [node["key"], node["shorthand"] === true ? node : node["value"]]),
      ]
        .map((pair) => pair as [SourceNode, SourceNode | null])
        .filter(([target, set]) => textOf(target) === name && set !== null)
        .map(([, set]) => set!)
        .filter((set) => textOf(set).includes(has)),
  };
}

/** A call of a function or method, distinguished by a text that it contains. */
export function call(callee: string, has = ""): Selector {
  return {
    name: `call of ${callee}`,
    find: (nodes, textOf) =>
      ofType(nodes, "CallExpression").filter(
        (node) =>
          endsWithName(textOf(node["callee"] as SourceNode), callee) && textOf(node).includes(has),
      ),
  };
}

/** A branch of `?:`, distinguished by a text that its condition contains. */
export function branch(has: string, which: "consequent" | "alternate"): Selector {
  return {
    name: `${which} of ${has}`,
    find: (nodes, textOf) =>
      ofType(nodes, "ConditionalExpression")
        .filter((node) => textOf(node["test"] as SourceNode).includes(has))
        .map((node) => node[which] as SourceNode),
  };
}

/** One argument of a call; the first is 0. */
export function argument(callee: string, place: number): Selector {
  return {
    name: `argument ${place} of ${callee}`,
    find: (nodes, textOf) =>
      call(callee)
        .find(nodes, textOf)
        .map((node) => (node["arguments"] as readonly SourceNode[])[place]!),
  };
}

/** The name of a called method. */
export function method(name: string): Selector {
  return {
    name: `method ${name}`,
    find: (nodes, textOf) =>
      ofType(nodes, "MemberExpression")
        .map((node) => node["property"] as SourceNode)
        .filter((property) => textOf(property) === name),
  };
}

/** The returned expression that contains the text. */
export function returned(has: string): Selector {
  return {
    name: `returned with ${has}`,
    find: (nodes, textOf) =>
      ofType(nodes, "ReturnStatement")
        .map((node) => node["argument"] as SourceNode | null)
        .filter((node) => node !== null)
        .filter((node) => textOf(node).includes(has)),
  };
}

/** Plants the fault. A place that is missing or ambiguous is an error. */
export function plantFault(mutant: Mutant): PlantedFault {
  const { file, source, node } = findDeclaration(mutant.package, mutant.in);
  const textOf: TextOf = ({ start, end }) => source.slice(start, end);
  const found = mutant.at.find([...nodesIn(node)], textOf);
  const [place, ...others] = found;
  if (place === undefined || others.length > 0) {
    throw new Error(
      `${mutant.in} in ${file} has ${found.length} times instead of once: ${mutant.at.name}. ` +
        "Bring the tables in test/mutation up to date.",
    );
  }
  const before = textOf(place);
  // A property such as `{ outcome }` keeps its name.
  const after = `${place["shorthand"] === true ? `${before}: ` : ""}${mutant.to(before)}`;
  const faulty = source.slice(0, place.start) + after + source.slice(place.end);
  const change = mutant.change ?? `${before} → ${after}`;
  return { file, sound: source, faulty, name: `${mutant.in}: ${change}` };
}

function ofType(nodes: readonly SourceNode[], type: string): readonly SourceNode[] {
  return nodes.filter((node) => node.type === type);
}

function endsWithName(callee: string, name: string): boolean {
  return callee === name || callee.endsWith(`.${name}`);
}
