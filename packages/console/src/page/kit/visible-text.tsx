import { splitHidden } from "@convoke/protocol/internal";

/** Text of others, in which characters that could deceive its reader are shown as marks. */
export function VisibleText({ text }: { readonly text: string }) {
  const pieces = splitHidden(text);
  if (pieces.length === 1) return <>{text}</>;
  return (
    <>
      {pieces.map((piece, place) =>
        place % 2 === 0 ? piece : <HiddenCharacter key={place} character={piece} />,
      )}
    </>
  );
}

function HiddenCharacter({ character }: { readonly character: string }) {
  const code = codeOf(character);
  return (
    <span class="hidden-character" title={`Invisible character U+${code}`}>
      {code}
    </span>
  );
}

function codeOf(character: string): string {
  return character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
}

/** The same as plain text, where there can be no elements: "invoice⟨U+202E⟩fdp.exe". */
export function visibleText(text: string): string {
  const pieces = splitHidden(text.replaceAll("\r\n", "\n"));
  return pieces.map((piece, place) => (place % 2 === 0 ? piece : `⟨U+${codeOf(piece)}⟩`)).join("");
}

/** The same on one line of at most `longest` characters. */
export function visibleLine(text: string, longest: number): string {
  const line = text
    .slice(0, longest * 4)
    .replaceAll(/\s+/g, " ")
    .trim();
  const shown = line.length <= longest ? line : `${line.slice(0, longest - 1).toWellFormed()}…`;
  return visibleText(shown);
}

/** An id by its ends: the ids of tasks begin with the time, so those of one minute begin alike. */
export function shortId(id: string): string {
  return visibleText(id.length <= 13 ? id : `${id.slice(0, 8)}…${id.slice(-4)}`);
}
