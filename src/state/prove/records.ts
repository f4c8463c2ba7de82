import type { RecordFormat } from '../ledger.ts';

/** What the records of a proof hold about a key: nothing. */
export type ProofSnapshot = Readonly<Record<string, never>>;

/** The records of proofs. No guard ever reads them. */
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

/** The key of a number in one proof, unlike any key of the guard. @param run tells proofs apart */
export function proofKey(run: string, number: number): string {
  return `${run}-${number}`;
}

/** The text that every line of a proof contains. */
export function proofText(run: string): string {
  return `"key":"${run}-`;
}
