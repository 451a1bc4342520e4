interface SegmentedProps {
  readonly label: string;
  readonly names: readonly string[];
  readonly selected: string;
  readonly onSelect: (name: string) => void;
}

/** A row of buttons of which one is chosen. */
export function Segmented({ label, names, selected, onSelect }: SegmentedProps) {
  return (
    <div class="segmented" role="group" aria-label={label}>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          class="segment"
          aria-pressed={name === selected}
          onClick={() => name !== selected && onSelect(name)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
