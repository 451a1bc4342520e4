import { useEffect, useState } from "preact/hooks";
import { Icon } from "../kit/icon.tsx";
import { formatCount } from "../kit/time.tsx";
import { useKeys } from "../kit/use-keys.ts";
import type { LensProps } from "./lens.ts";
import { kindName, timeOf } from "./notes.ts";

/** Playing takes at most about so many steps, however long the log is. */
const STEPS = 120;

const STEP_MS = 250;

/** Moves through the log. Everything on the page shows the task as it was after that event. */
export function Playhead({ log, seq, isNow, go }: LensProps) {
  const { head } = log.events;
  const [isPlaying, setPlaying] = useState(false);
  const move = (to: number): void => go(to >= head ? undefined : Math.max(1, to));
  useKeys({ "[": () => move(seq - 1), "]": () => move(seq + 1) });
  useEffect(() => {
    if (!isPlaying) return undefined;
    if (isNow) return setPlaying(false);
    const timer = setTimeout(() => move(seq + Math.ceil(head / STEPS)), STEP_MS);
    return () => clearTimeout(timer);
  }, [isPlaying, seq, isNow]);
  const play = (): void => {
    if (!isPlaying && isNow) go(1);
    setPlaying(!isPlaying);
  };
  return (
    <section class="playhead card" aria-label="Playhead">
      <StepButton name="left" label="Previous event, key [" onClick={() => move(seq - 1)} />
      <StepButton
        name={isPlaying ? "pause" : "play"}
        label={isPlaying ? "Pause" : "Play from here, or from the start"}
        onClick={play}
      />
      <StepButton name="right" label="Next event, key ]" onClick={() => move(seq + 1)} />
      <input
        type="range"
        class="playhead-range"
        aria-label="Position in the log"
        aria-valuetext={`Event ${seq} of ${head}`}
        min={1}
        max={head}
        value={seq}
        onInput={(event) => move(Number((event.currentTarget as HTMLInputElement).value))}
      />
      <Position log={log} seq={seq} />
      <button
        type="button"
        class="button playhead-now"
        aria-pressed={isNow}
        onClick={() => go(undefined)}
      >
        Now
      </button>
    </section>
  );
}

interface StepButtonProps {
  readonly name: "left" | "right" | "play" | "pause";
  readonly label: string;
  readonly onClick: () => void;
}

function StepButton({ name, label, onClick }: StepButtonProps) {
  return (
    <button
      type="button"
      class="button quiet icon-only"
      title={label}
      aria-label={label}
      onClick={onClick}
    >
      <Icon name={name} size={16} />
    </button>
  );
}

function Position({ log, seq }: Pick<LensProps, "log" | "seq">) {
  const entry = log.events.find(seq);
  const time = entry && timeOf(entry);
  return (
    <p class="playhead-position small">
      <strong>
        {formatCount(seq)} of {formatCount(log.events.head)}
      </strong>
      {entry && <span class="mono muted">{kindName(entry.event)}</span>}
      {time !== undefined && <span class="muted">{clockTime(time)}</span>}
    </p>
  );
}

/** With milliseconds, which logs are about. */
function clockTime(time: number): string {
  const digits = "2-digit";
  return new Date(time).toLocaleTimeString("en-GB", {
    hour: digits,
    minute: digits,
    second: digits,
    fractionalSecondDigits: 3,
  });
}
