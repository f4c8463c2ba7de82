import type * as v from 'valibot';

/** The valibot schemas that documents are checked with: strict objects, arrays, optional entries, choices, and plain values. */
export interface Shape extends v.GenericSchema {
  readonly entries?: Readonly<Record<string, Shape>>;
  readonly item?: Shape;
  readonly wrapped?: Shape;
  /** The form of a choice that a value is checked as. */
  readonly pick?: (value: unknown) => Shape;
}
