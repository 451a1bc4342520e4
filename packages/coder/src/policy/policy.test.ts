import fc from "fast-check";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parseCommand } from "../command-line/parse-command.ts";
import { type Action, Policy } from "./policy.ts";
import type { PolicyRule } from "./policy-definition.ts";
import { MODES, type Mode, VERDICTS, type Verdict } from "./verdict.ts";

const ROOT = realpathSync(mkdtempSync(join(tmpdir(), "policy-")));
mkdirSync(join(ROOT, "src"));
symlinkSync("/etc", join(ROOT, "link"));
afterAll(() => rmSync(ROOT, { recursive: true }));

function verdictOn(
  action: Partial<Action>,
  mode: Mode,
  rules: readonly PolicyRule[] = [],
): Verdict {
  const paths = action.paths?.map((path) => join(ROOT, path)) ?? [];
  return new Policy({ rules }, [ROOT]).decide({ tool: "x", kind: "other", ...action, paths }, mode)
    .verdict;
}

interface Around {
  readonly mode?: Mode;
  readonly rules?: readonly PolicyRule[];
  readonly isSandboxed?: boolean;
}

async function verdictOnLine(line: string, around: Around = {}): Promise<Verdict> {
  const { mode = "ask", rules = [], isSandboxed = true } = around;
  const command = await parseCommand(line);
  const action = { tool: "run_shell", command, cwd: ROOT, isSandboxed };
  return new Policy({ rules }, [ROOT]).decideCommand(action, mode).verdict;
}

/** The verdicts in the modes plan, ask, auto-edit and full. */
test.each([
  [{ kind: "read", paths: ["a"] }, "allow allow allow allow"],
  [{ kind: "read", paths: ["../a"] }, "ask ask ask allow"],
  [{ kind: "read", paths: ["link/a"] }, "ask ask ask allow"],
  [{ kind: "edit", paths: ["a"] }, "deny ask allow allow"],
  [{ kind: "move", paths: ["a", "b"] }, "deny ask allow allow"],
  [{ kind: "delete", paths: ["a"] }, "deny ask ask allow"],
  [{ kind: "edit", paths: ["a", "../b"] }, "deny ask ask ask"],
  [{ kind: "edit", paths: [".git/hooks/pre-commit"] }, "deny ask ask ask"],
  [{ kind: "edit", paths: [".convoke/policy.json"] }, "deny ask ask ask"],
  [{ kind: "fetch" }, "ask ask ask allow"],
  [{ kind: "other" }, "deny ask ask allow"],
] as const)("%j is %s", (action, verdicts) => {
  expect(MODES.map((mode) => verdictOn(action, mode)).join(" ")).toBe(verdicts);
});

test.each([
  ["ls -la src && git status | head -5", "allow allow allow allow"],
  ["cd src && git log -p -- a.ts > /dev/null 2>&1", "allow allow allow allow"],
  ["timeout 5 sh -c 'cat a | sort -u'", "allow allow allow allow"],
  ["cat /etc/passwd", "ask ask ask allow"],
  ["cat < /etc/passwd", "ask ask ask allow"],
  ["cat link/passwd", "ask ask ask allow"],
  ["cat link/../etc/passwd", "ask ask ask allow"],
  ["cd link && cat ../src", "ask ask ask allow"],
  ["echo > link/../src", "deny ask ask ask"],
  ["cd .. && cat a", "ask ask ask allow"],
  ["grep -f../a b", "ask ask ask allow"],
  ["npm test", "deny ask ask allow"],
  ["echo a > b", "deny ask allow allow"],
  ["echo a > ../b", "deny ask ask ask"],
  ["ls; $X", "deny ask ask ask"],
])("the line %j is %s", async (line, verdicts) => {
  const all = await Promise.all(MODES.map((mode) => verdictOnLine(line, { mode })));

  expect(all.join(" ")).toBe(verdicts);
});

describe("commands that only look harmless are asked for:", () => {
  test.each([
    "git -c core.pager=x log",
    "git log --output=x",
    "git diff --outp x",
    "git diff --ext-diff",
    "git grep -Oless x",
    "git branch -D main",
    "git push",
    "find . -delete",
    "find . -exec ls {} +",
    "find . -fprint x",
    "sort -o x y",
    "sort -uox y",
    "sort --compress-program=x y",
    "rg --pre x y",
    "rg --follow x",
    "grep -nR x .",
    "diff -r a b",
    "sort --files0-from=a",
    "uniq a b",
    "date -s 1",
    "./ls",
    "/tmp/ls",
    "cat $X",
    "cat *",
    "sudo ls",
    "sed -i s/a/b/ x",
    "awk 'BEGIN{system(\"x\")}'",
    "ls | sh",
    "ls | xargs rm",
    "echo $(rm x)",
    "PATH=. ls",
  ])("%j", async (line) => {
    expect(await verdictOnLine(line)).toBe("ask");
  });
});

test("without a sandbox every command is at least asked for", async () => {
  expect(await verdictOnLine("ls", { mode: "full", isSandboxed: false })).toBe("ask");
});

describe("rules", () => {
  const npm: PolicyRule = { verdict: "allow", command: "npm run *" };

  test("allow a command by its first words", async () => {
    expect(await verdictOnLine("npm run build --x $Y", { rules: [npm] })).toBe("allow");
    expect(await verdictOnLine("npm --x run build", { rules: [npm] })).toBe("ask");
    expect(await verdictOnLine("./npm run build", { rules: [npm] })).toBe("ask");
    expect(await verdictOnLine("npm $X", { rules: [npm] })).toBe("ask");
  });

  test("do not allow the rest of a line", async () => {
    expect(await verdictOnLine("npm run build && rm x", { rules: [npm] })).toBe("ask");
    expect(await verdictOnLine("npm run $(rm x)", { rules: [npm] })).toBe("ask");
  });

  test("deny a command in all its spellings", async () => {
    const around = { mode: "full", rules: [{ verdict: "deny", command: "git push" }] } as const;

    for (const line of [
      "git push",
      "git -C . push -f",
      "/bin/git push",
      "sudo git push",
      "true|git push",
    ]) {
      expect(await verdictOnLine(line, around)).toBe("deny");
    }
    expect(await verdictOnLine("git $X", around)).toBe("ask");
    expect(await verdictOnLine("git pull", around)).toBe("allow");
  });

  test("deny wins over ask, and ask over allow, in any order", async () => {
    const rules = VERDICTS.map((verdict) => ({ verdict, command: "npm" }));

    expect(await verdictOnLine("npm x", { rules })).toBe("deny");
    expect(await verdictOnLine("npm x", { rules: rules.slice(0, 2) })).toBe("ask");
    expect(await verdictOnLine("npm x", { rules: rules.slice(0, 2).toReversed() })).toBe("ask");
  });

  test("for a path hold for files, redirections and arguments", async () => {
    const rules: readonly PolicyRule[] = [{ verdict: "deny", path: "**/.env*" }];

    expect(verdictOn({ kind: "read", paths: ["src/.env"] }, "full", rules)).toBe("deny");
    expect(verdictOn({ kind: "read", paths: ["src/.ENV.local"] }, "full", rules)).toBe("deny");
    expect(verdictOn({ kind: "read", paths: ["src/env"] }, "full", rules)).toBe("allow");
    expect(await verdictOnLine("cat src/.env", { mode: "full", rules })).toBe("deny");
    expect(await verdictOnLine("echo > .env", { mode: "full", rules })).toBe("deny");
    expect(await verdictOnLine("cat $X", { mode: "full", rules })).toBe("ask");
  });

  test("that allow a path allow no other path, and no command on it", async () => {
    const rules: readonly PolicyRule[] = [{ verdict: "allow", path: "src/**" }];

    expect(verdictOn({ kind: "edit", paths: ["src/a/b.ts"] }, "ask", rules)).toBe("allow");
    expect(verdictOn({ kind: "edit", paths: ["test/b.ts"] }, "ask", rules)).toBe("ask");
    expect(await verdictOnLine("echo > src/a", { rules })).toBe("allow");
    expect(await verdictOnLine("rm src/a", { rules })).toBe("ask");
  });

  test("cannot allow a change in plan mode", () => {
    const rules: readonly PolicyRule[] = [{ verdict: "allow", tool: "*" }];

    expect(verdictOn({ kind: "edit", paths: ["a"] }, "plan", rules)).toBe("deny");
  });
});

const aRule: fc.Arbitrary<PolicyRule> = fc.oneof(
  fc.record({
    verdict: fc.constantFrom(...VERDICTS),
    command: fc.constantFrom("git", "git push", "npm *", "*"),
  }),
  fc.record({
    verdict: fc.constantFrom(...VERDICTS),
    path: fc.constantFrom("src/**", "**/a", "/etc/**", "*"),
  }),
  fc.record({ verdict: fc.constantFrom(...VERDICTS), tool: fc.constantFrom("run_*", "x", "*") }),
);

const LINES = [
  "git push",
  "git $X",
  "npm run a > src/a",
  "cat /etc/a",
  "ls",
  "$X",
  "echo > a; rm src/a",
];

test("a stricter set of rules, and a stricter mode, never allows more", async () => {
  const stricter = (rules: readonly PolicyRule[], at: number): readonly PolicyRule[] =>
    rules.map((rule, index) =>
      index === at % rules.length
        ? { ...rule, verdict: VERDICTS[Math.min(2, VERDICTS.indexOf(rule.verdict) + 1)]! }
        : rule,
    );
  await fc.assert(
    fc.asyncProperty(
      fc.array(aRule, { minLength: 1, maxLength: 5 }),
      aRule.filter(({ verdict }) => verdict !== "allow"),
      fc.nat(4),
      fc.constantFrom(...LINES),
      fc.constantFrom(...MODES),
      async (rules, added, at, line, mode) => {
        const rank = async (around: Around): Promise<number> =>
          VERDICTS.indexOf(await verdictOnLine(line, around));
        const before = await rank({ rules, mode });

        expect(await rank({ rules: [...rules, added], mode })).toBeGreaterThanOrEqual(before);
        expect(await rank({ rules: stricter(rules, at), mode })).toBeGreaterThanOrEqual(before);
        const lower = MODES[Math.max(0, MODES.indexOf(mode) - 1)]!;
        expect(await rank({ rules, mode: lower })).toBeGreaterThanOrEqual(before);
        expect(await rank({ rules, mode, isSandboxed: false })).toBeGreaterThanOrEqual(before);
      },
    ),
  );
});
