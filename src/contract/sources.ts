/** Where the value of a leaf may come from. */
export const SOURCES = ['spec', 'assumed', 'imported', 'override'] as const;

export type Source = (typeof SOURCES)[number];
