/** What a person means who was given options: the number of one, one of them in whatever case, or words of their own. */
export function choose(typed: string, options: readonly string[] = []): string {
  const words = typed.trim();
  const same = options.find((option) => option === words);
  const alike = options.filter((option) => option.toLowerCase() === words.toLowerCase());
  const numbered = /^\d+$/.test(words) ? options[Number(words) - 1] : undefined;
  return same ?? numbered ?? (alike.length === 1 ? alike[0] : undefined) ?? typed;
}
