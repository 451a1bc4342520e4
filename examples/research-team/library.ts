/** Something that was published, and what it says in one sentence. */
export interface Publication {
  readonly kind: "paper" | "market" | "press";
  readonly title: string;
  readonly url: string;
  readonly finding: string;
}

/** What the researchers can find: a small library instead of the web. */
const LIBRARY: readonly Publication[] = [
  {
    kind: "paper",
    title: "Heat pumps in 120 unrenovated houses",
    url: "https://papers.example/heat-pumps-120-houses",
    finding: "In 120 unrenovated houses, heat pumps gave 3.1 times the electricity they used.",
  },
  {
    kind: "paper",
    title: "The noise of heat pumps at night",
    url: "https://papers.example/heat-pump-noise",
    finding: "At a distance of three metres, heat pumps of 2025 are as loud as a refrigerator.",
  },
  {
    kind: "market",
    title: "Heat pump sales, third quarter",
    url: "https://market.example/heat-pumps-q3",
    finding: "Sales of heat pumps grew by 18 % in a year, while prices fell by 7 %.",
  },
  {
    kind: "press",
    title: "A street heats together",
    url: "https://press.example/a-street-heats-together",
    finding: "Eleven neighbours share one heat pump, and each pays a third less than before.",
  },
];

/** The publications of one kind with a word of the question in their titles. */
export function search(kind: Publication["kind"], question: string): readonly Publication[] {
  const words = question.toLowerCase().match(/[a-z]{4,}/g) ?? [];
  return LIBRARY.filter(
    (one) => one.kind === kind && words.some((word) => one.title.toLowerCase().includes(word)),
  );
}
