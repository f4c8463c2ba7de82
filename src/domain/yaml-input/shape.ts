import type * as v from 'valibot';

/** The valibot schemas that documents are checked with: strict objects, arrays, optional entries, and plain values. */
export interface Shape extends v.GenericSchema {
  readonly entries?: Readonly<Record<string, Shape>>;
  readonly item?: Shape;
  readonly wrapped?: Shape;
}
