import { useEffect, useState } from "preact/hooks";
import { formatDuration } from "../time.tsx";

/** How long something still waits, counted down. */
export function Expiry({ at }: { readonly at: string }) {
  const left = useSecondsLeft(at);
  return (
    <time class="expiry small" dateTime={at} data-urgent={left < 60}>
      {left <= 0 ? "Expired" : `Expires in ${formatDuration(left * 1000)}`}
    </time>
  );
}

function useSecondsLeft(at: string): number {
  const seconds = (): number => Math.max(0, Math.ceil((Date.parse(at) - Date.now()) / 1000));
  const [left, setLeft] = useState(seconds);
  useEffect(() => {
    const timer = setInterval(() => setLeft(seconds()), 1000);
    return () => clearInterval(timer);
  }, [at]);
  return left;
}
