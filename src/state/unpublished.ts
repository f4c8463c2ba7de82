import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { LocalError, OutcomeUnknownError, PartnerctlError } from '../errors.ts';
import { type RecordFormat, toLogRecord } from './ledger.ts';
import type { OnceDeps } from './once.ts';
import { writeRecovery } from './recovery.ts';
import type { StateLocation } from './state-location.ts';

/** Returns how to keep the records that cannot be published to a shared state, for the next command on this machine. */
export function keepUnpublished<Snapshot extends object>(
  location: StateLocation,
  format: RecordFormat<Snapshot>,
): Pick<OnceDeps<Snapshot>, 'writeRecovery'> {
  if (location.kind === 'file') return {};
  return { writeRecovery: (record) => writeRecovery(location.path, toLogRecord(record, format)) };
}

/** What was created without a record of it. */
export interface Unrecorded {
  /** What exists now, for people: `The job was created as cron_1`. */
  readonly created: string;
  readonly error: unknown;
  /** Where the record is kept instead. */
  readonly recoveryPath: string | undefined;
  /** Whether other machines use the state. */
  readonly isShared: boolean;
  /** What to do if the record is kept nowhere. */
  readonly hint: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** The error for an object whose record could not be written: its outcome is unknown to machines that share the state. */
export function unrecordedError({
  created,
  error,
  recoveryPath,
  isShared,
  hint,
  details,
}: Unrecorded): PartnerctlError {
  const why = error instanceof PartnerctlError ? `${error.message}\n${error.info.why ?? ''}`.trim() : String(error);
  const info = { why, details: { ...details, recovery_file: recoveryPath ?? null }, cause: error };
  if (!isShared) {
    return new LocalError(`${created}, but this could not be recorded.`, { ...info, hint });
  }
  // Anybody may put files into the directory for temporary ones, so that no command publishes them from there.
  const isPublishedLater = recoveryPath !== undefined && dirname(recoveryPath) !== tmpdir();
  return new OutcomeUnknownError(`${created}, but the state could not record it.`, {
    ...info,
    hint: !isPublishedLater
      ? hint
      : `The record is kept in ${recoveryPath}. The next command on this machine that uses this state publishes it. Until then, other machines do not know the outcome.`,
  });
}
