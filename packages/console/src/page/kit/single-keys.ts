import { signal } from "@preact/signals";

const STORED = "convoke-single-keys";

/**
 * Whether keys without a modifier do something. They can be switched off, because speech input and
 * unsteady hands press them by accident (WCAG 2.1.4).
 */
export const singleKeys = signal(localStorage.getItem(STORED) !== "off");

export function switchSingleKeys(isOn: boolean): void {
  singleKeys.value = isOn;
  localStorage.setItem(STORED, isOn ? "on" : "off");
}
