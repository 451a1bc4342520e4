import { describe, expect, test } from "vitest";
import { parseArgv, parseCommand } from "./parse-command.ts";

/** The commands of a line as text; an unknown word is `?`. */
async function commandsOf(line: string): Promise<readonly string[]> {
  const { commands } = await parseCommand(line);
  return commands.map((argv) => argv.map((word) => word ?? "?").join(" "));
}

test.each([
  ["a | b && c || d; e & f", ["a", "b", "c", "d", "e", "f"]],
  ["(a; { b; }) > out", ["a", "b"]],
  ["if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]],
  ["for i in x; do a; done; while b; do c; done", ["a", "b", "c"]],
  ["case x in y) a;; *) b;; esac", ["a", "b"]],
  ["f() { rm x; }; f", ["rm x", "f"]],
  ["! a", ["a"]],
  ['a "$(b $(c))" `d`', ["a ? ?", "b ?", "c", "d"]],
  ["r\\m 'x y' \"z\"w", ["rm x y zw"]],
  ["git show HEAD~1", ["git show HEAD~1"]],
  ["ls *.ts $X {a,b} ~/x", ["ls ? ? ? ?"]],
])("all commands of %j are found", async (line, commands) => {
  expect(await commandsOf(line)).toEqual(commands);
  expect((await parseCommand(line)).unknowns).toEqual([]);
});

test.each([
  ["sudo -u root rm x", ["sudo -u root rm x", "rm x"]],
  [
    "env -i nohup nice -n 5 rm x",
    ["env -i nohup nice -n 5 rm x", "nohup nice -n 5 rm x", "nice -n 5 rm x", "rm x"],
  ],
  ["timeout -k 1 5 rm x", ["timeout -k 1 5 rm x", "rm x"]],
  ["ls | xargs -0 rm -f", ["ls", "xargs -0 rm -f", "rm -f ?"]],
  ["find . -exec rm {} + -exec a b \\;", ["find . -exec rm {} + -exec a b ;", "rm ?", "a b"]],
  ["bash -ec 'a; sh -c \"b c\"'", ['bash -ec a; sh -c "b c"', "a", "sh -c b c", "b c"]],
])("%j is unwrapped", async (line, commands) => {
  expect(await commandsOf(line)).toEqual(commands);
});

test("redirections are files, not words", async () => {
  const parsed = await parseCommand("a < in > 'o t' 2>> err arg >&2 | b &> all >| last 2>&-");

  expect(parsed).toMatchObject({ unknowns: ["where 2>> err arg leads"] });
  expect(await parseCommand("a < in > 'o t' 2>> err >&2 | b &> all >| last 2>&-")).toEqual({
    commands: [["a"], ["b"]],
    reads: ["in"],
    writes: ["o t", "err", "all", "last"],
    unknowns: [],
  });
});

describe("what is not certain is unknown:", () => {
  test.each([
    "$X x",
    "$(a) x",
    "p* x",
    "eval a",
    ". x",
    "source x",
    "alias a=b",
    "trap a EXIT",
    "A=1 a",
    "PATH=. a",
    "export A=1",
    "for PATH in .; do a; done",
    "echo $((x=1))",
    "echo ${x:=y}",
    "echo ${x@P}",
    "((x))",
    "[[ a -eq b ]]",
    "test -v 'a[$(b)]'",
    "printf -v 'a[$(b)]' x",
    "a <(b)",
    "cat <<E\n$(a)\nE",
    "a > $X",
    "a > /dev/tcp/x/1",
    "a b > c d",
    "sh x -c2> y",
    "a; cd b",
    "sh",
    "sh -c $X",
    "zsh -c a",
    "env A=1 a",
    "env -S a",
    "timeout $X a",
    "xargs sh -c",
    "xargs -I x a x",
    "sudo --chdir=x a",
    "find . $X",
    "coproc a",
    "watch a",
    "a 'b",
    "a\u00a0b",
    "a\rb",
  ])("%j", async (line) => {
    expect((await parseCommand(line)).unknowns).not.toEqual([]);
  });
});

test("a line that is too long or too deep is unknown", async () => {
  for (const line of [`a ${"x".repeat(20_000)}`, `${"(".repeat(3000)}a${")".repeat(3000)}`]) {
    expect((await parseCommand(line)).unknowns).not.toEqual([]);
  }
});

test("a line may start in another folder", async () => {
  expect(await parseCommand("cd sub && a")).toMatchObject({ startsIn: "sub", unknowns: [] });
});

test("the words of a program without a shell are taken as they are", async () => {
  const { commands, unknowns } = await parseArgv(["sudo", "echo", "$(rm x)", "*"]);

  expect(commands).toEqual([
    ["sudo", "echo", "$(rm x)", "*"],
    ["echo", "$(rm x)", "*"],
  ]);
  expect(unknowns).toEqual([]);
});
