import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import type { Metadata } from "../model/part.ts";
import { checkAgentExtensions } from "./negotiation.ts";
import { checkApproval, checkApprovalAnswer, digestArguments } from "./approvals.ts";
import { readBudget, readBudgetReport } from "./budget.ts";
import { declaredTools, toolResult } from "./client-tools.ts";
import { EXTENSIONS, resumptionCursor } from "./extensions.ts";

const DOCS = new URL("../../../../docs/extensions/", import.meta.url);
const rows = Object.values(EXTENSIONS);

verifies("v1-S30", "each of our extensions has a unique URI that ends in its version", () => {
  checkAgentExtensions(rows);
  for (const { uri, version } of rows) {
    expect(uri).toMatch(
      new RegExp(`^https://convoke\\.dev/extensions/[a-z]+(-[a-z]+)*/v${version}$`),
    );
  }
});

describe("the documents", () => {
  const read = (name: string): string => readFileSync(new URL(name, DOCS), "utf8");
  const pageOf = (uri: string): string => `${uri.split("/").at(-2)}.md`;

  verifies("v1-S30", "has a page for each, with its URI and its versioning", () => {
    for (const { uri } of rows) {
      expect(read(pageOf(uri))).toContain(uri);
      expect(read(pageOf(uri))).toContain("A breaking change is a new URI");
      expect(read("README.md")).toContain(`(${pageOf(uri)})`);
    }
    expect(readdirSync(DOCS).toSorted()).toEqual(
      ["README.md", ...rows.map(({ uri }) => pageOf(uri))].toSorted(),
    );
  });

  /** The examples of a page, verbatim. */
  const examplesOf = (page: string): readonly Example[] =>
    [...read(page).matchAll(/```json\n([^]*?)```/g)].flatMap(([, json = ""]) =>
      // An example with omissions is not for programs.
      /[,{[] ?…/.test(json) ? [] : [JSON.parse(json) as Example],
    );

  test("shows valid approvals, with the correct digest", async () => {
    const [request, answer] = examplesOf("approvals.md");
    const { tool, digest } = checkApproval(request?.data, "data");

    expect(digest).toBe(await digestArguments(tool.arguments));
    expect(checkApprovalAnswer(answer?.data, "data").digest).toBe(digest);
  });

  test("shows valid tools, budgets and cursors", () => {
    const [tools, , result] = examplesOf("client-tools.md");
    const [left, used] = examplesOf("budget.md");
    const [subscription] = examplesOf("resumption.md");

    expect(declaredTools(tools?.metadata)).toHaveLength(1);
    expect(toolResult(result?.data, "data").toolUseId).toBe("t1");
    expect(readBudget(left?.metadata)?.depth).toBe(2);
    expect(readBudgetReport(used?.metadata)?.exceeded).toBe("depth");
    expect(resumptionCursor(subscription?.params?.metadata)).toBe("42");
  });
});

interface Example {
  readonly data?: unknown;
  readonly metadata?: Metadata;
  readonly params?: { readonly metadata: Metadata };
}
