// A name added here is a promise; keep it short.
export {};
