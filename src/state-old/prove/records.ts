import type { RecordFormat } from '../ledger.ts';

/** Records of a proof have no data about a key. */
export type ProofSnapshot = Readonly<Record<string, never>>;

/** The format of records of proofs. Other commands never read them. */
export const PROOF_RECORDS: RecordFormat<ProofSnapshot> = {
  types: {
    reserved: 'proof.reserved',
    created: 'proof.created',
    adopted: 'proof.adopted',
    released: 'proof.released',
    unknown: 'proof.unknown',
    forgotten: 'proof.forgotten',
  },
  reservationField: 'reservation',
  remoteIdField: 'object',
  noun: 'a proof',
  family: 'proof.',
  decodeSnapshot: () => ({}),
};

/** Returns a key of a proof, unlike any other key. @param run identifies the proof */
export function proofKey(run: string, number: number): string {
  return `${run}-${number}`;
}

/** Returns the text that every line of a proof contains. */
export function proofText(run: string): string {
  return `"key":"${run}-`;
}
