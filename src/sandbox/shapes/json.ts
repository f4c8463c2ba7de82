export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

export type JsonFields = Readonly<Record<string, Json>>;

/** Whether a value is an object and no list. */
export function isFields<T>(value: T): value is T & JsonFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
