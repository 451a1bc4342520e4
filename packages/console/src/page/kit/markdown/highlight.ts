import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";

/** A piece of code: text, or pieces with the classes of what they are, such as "hljs-keyword". */
export type CodePiece =
  | { readonly type: "text"; readonly value: string }
  | {
      readonly type: "element";
      readonly classes: readonly string[];
      readonly children: readonly CodePiece[];
    };

const languages = { bash, css, diff, javascript, json, python, typescript, xml, yaml };

const lowlight = createLowlight(languages);

/** The code as a tree; undefined for a language that is not known. Loaded with the first code block. */
export function highlight(code: string, language: string): readonly CodePiece[] | undefined {
  if (!lowlight.registered(language)) return undefined;
  return lowlight.highlight(language, code).children.flatMap(toPiece);
}

type Node = ReturnType<typeof lowlight.highlight>["children"][number];

function toPiece(node: Node): readonly CodePiece[] {
  if (node.type === "text") return [{ type: "text", value: node.value }];
  if (node.type !== "element") return [];
  const { className } = node.properties;
  const classes = Array.isArray(className) ? className.map(String) : [];
  return [{ type: "element", classes, children: node.children.flatMap(toPiece) }];
}
