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
  const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
  return (
    <span class="hidden-character" title={`Invisible character U+${code}`}>
      {code}
    </span>
  );
}
