import treeSitter, { type Node } from "@vscode/tree-sitter-wasm";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** A node of the syntax tree of a shell line. */
export type SyntaxNode = Node;

/** The children of a node, in the order of the text. */
export function childNodes(node: SyntaxNode): readonly SyntaxNode[] {
  return node.children.filter((child) => child !== null);
}

/** The longest line that is parsed, in characters. */
const MAX_LINE = 8192;

/** How deep the parts of a line may be nested. */
const MAX_DEPTH = 200;

/**
 * Characters that shells and the parser may read differently: controls other than newline and tab,
 * invisible characters, and every space except the ordinary one.
 */
const AMBIGUOUS = /(?![ \n\t])[\p{C}\p{Z}]/u;

let loading: Promise<treeSitter.Parser> | undefined;

/**
 * Parses a shell line as Bash and calls `read` with the tree, which is only valid during the call.
 * Returns undefined if the line is not valid, or could be read in more than one way.
 */
export async function withSyntax<T>(
  line: string,
  read: (root: SyntaxNode) => T,
): Promise<T | undefined> {
  if (line.length > MAX_LINE || AMBIGUOUS.test(line)) return undefined;
  loading ??= loadParser();
  const parser = await loading;
  const tree = parser.parse(line);
  if (tree === null) return undefined;
  try {
    const root = tree.rootNode;
    return root.hasError || !coversLine(root, line) ? undefined : read(root);
  } finally {
    tree.delete();
  }
}

async function loadParser(): Promise<treeSitter.Parser> {
  const { Parser, Language } = treeSitter;
  await Parser.init();
  const grammar = import.meta.resolve("@vscode/tree-sitter-wasm/wasm/tree-sitter-bash.wasm");
  const parser = new Parser();
  parser.setLanguage(await Language.load(await readFile(fileURLToPath(grammar))));
  return parser;
}

/** Nodes whose text is read as a whole. */
const WHOLE = new Set(["string", "raw_string", "ansi_c_string", "comment"]);

/**
 * The grammar drops text in rare cases, such as the start of a here-document. Between two tokens
 * there may only be blanks and continued lines.
 */
function coversLine(root: SyntaxNode, line: string): boolean {
  let end = 0;
  const covers = (node: SyntaxNode, depth: number): boolean => {
    if (depth > MAX_DEPTH) return false;
    if (node.childCount > 0 && !WHOLE.has(node.type)) {
      return childNodes(node).every((child) => covers(child, depth + 1));
    }
    const gap = line.slice(end, node.startIndex);
    end = node.endIndex;
    return isBlank(gap);
  };
  return covers(root, 0) && isBlank(line.slice(end));
}

function isBlank(text: string): boolean {
  return /^(?:[ \t\n]|\\\n)*$/.test(text);
}
