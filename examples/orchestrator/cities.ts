/** The data that all the agents use. */
const CITIES = {
  Lisbon: { departure: "06:40", sky: "wind from the sea, 19 °C", night: 110 },
  Oslo: { departure: "13:05", sky: "snow, -4 °C", night: 160 },
  Rome: { departure: "09:15", sky: "sun, 24 °C", night: 95 },
} as const;

export type City = keyof typeof CITIES;

export const NAMES = Object.keys(CITIES) as readonly City[];

/** Finds the city that a text mentions. */
export function cityIn(text: string): City | undefined {
  return NAMES.find((name) => text.toLowerCase().includes(name.toLowerCase()));
}

export function factsOf(city: City): (typeof CITIES)[City] {
  return CITIES[city];
}
