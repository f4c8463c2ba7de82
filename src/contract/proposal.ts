import type { LeafName } from './leaves.ts';

/** A value for a leaf from a document or recorded traffic. */
export interface Proposal {
  readonly leaf: LeafName;
  readonly value: string;
  /** Where it was found: `GET /spaces, response`. */
  readonly evidence: string;
}

/** Something that a document or recorded traffic leaves open, or that the tool cannot do. */
export interface OpenQuestion {
  /** The leaf to set; null if no leaf helps. */
  readonly leaf: LeafName | null;
  readonly message: string;
}
