/** The icons, as paths of a 24 by 24 grid. */
const PATHS = {
  home: "M3 11 12 3l9 8M5 9.5V21h5v-6h4v6h5V9.5",
  chat: "M4 5h16v11H9l-5 4z",
  tasks: "M4 6h2M4 12h2M4 18h2M10 6h10M10 12h10M10 18h10",
  approvals: "M12 3 4 6v6c0 4.5 3.2 7.7 8 9 4.8-1.3 8-4.5 8-9V6zM8.5 12l2.5 2.5 4.5-5",
  pushes: "M3 12h13M11 6l6 6-6 6M20 4v16",
  agents: "M12 8V4M8 4h8M5 8h14v11H5zM9 13h.01M15 13h.01M2 12v3M22 12v3",
  metrics: "M4 20V10M10 20V4M16 20v-7M21 20H3",
  sun: "M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10M12 2v2M12 20v2M4 12H2M22 12h-2M5 5l1.5 1.5M17.5 17.5 19 19M19 5l-1.5 1.5M6.5 17.5 5 19",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5",
  screen: "M3 5h18v11H3zM9 20h6M12 16v4",
  close: "M6 6l12 12M18 6 6 18",
  check: "M5 12.5 10 17 19 7",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  down: "M6 9l6 6 6-6",
  right: "M9 6l6 6-6 6",
  left: "M15 6l-6 6 6 6",
  play: "M7 5l12 7-12 7z",
  pause: "M8 5v14M16 5v14",
  stop: "M6 6h12v12H6z",
  send: "M4 12 20 4l-6 16-3-7z",
  attach:
    "M20 11.5 11.5 20a5 5 0 0 1-7-7L13 4.5a3.3 3.3 0 0 1 4.7 4.7L9.5 17.5a1.7 1.7 0 0 1-2.4-2.4L15 7.5",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  search: "M11 5a6 6 0 1 0 0 12 6 6 0 0 0 0-12M15.5 15.5 20 20",
  warning: "M12 4 2.5 20h19zM12 10v4M12 17h.01",
  key: "M15 4a5 5 0 1 0-4.6 7L4 17.5V20h3v-2h2v-2h2l1.5-1.5A5 5 0 0 0 15 4",
  plus: "M12 5v14M5 12h14",
  refresh: "M20 11a8 8 0 0 0-14.5-4L4 9M4 4v5h5M4 13a8 8 0 0 0 14.5 4l1.5-2M20 20v-5h-5",
  external: "M14 4h6v6M20 4l-9 9M18 14v6H4V6h6",
  tool: "M14 6a4 4 0 0 0-5 5l-6 6 3 3 6-6a4 4 0 0 0 5-5l-3 3-3-3z",
  file: "M6 3h8l5 5v13H6zM14 3v5h5",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
} as const;

export type IconName = keyof typeof PATHS;

/** A decorative icon: the text beside it, or the label of its button, says what it means. */
export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
