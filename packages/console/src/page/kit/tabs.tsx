interface TabsProps {
  readonly label: string;
  readonly names: readonly string[];
  readonly selected: string;
  readonly onSelect: (name: string) => void;
}

/** A row of buttons of which one is chosen. */
export function Tabs({ label, names, selected, onSelect }: TabsProps) {
  return (
    <div class="tabs" role="group" aria-label={label}>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          class="tab"
          aria-pressed={name === selected}
          onClick={() => name !== selected && onSelect(name)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
