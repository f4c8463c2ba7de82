import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { LocalError, OutcomeUnknownError, PartnerctlError } from '../errors.ts';
import { type RecordFormat, toLogRecord } from './ledger.ts';
import type { OnceDeps } from './once.ts';
import { writeRecovery } from './recovery.ts';
import type { StateLocation } from '../state/location.ts';

/**
 * Returns `writeRecovery` for a shared state: keeps records that cannot be published for the next command on this machine.
 */
export function keepUnpublished<Snapshot extends object>(
  location: StateLocation,
  format: RecordFormat<Snapshot>,
): Pick<OnceDeps<Snapshot>, 'writeRecovery'> {
  if (location.kind === 'file') return {};
  return { writeRecovery: (record) => writeRecovery(location.path, toLogRecord(record, format)) };
}

/** An object that was created, but not recorded. */
export interface Unrecorded {
  /** A clause such as `The job was created as cron_1`. */
  readonly created: string;
  readonly error: unknown;
  /** The recovery file with the record, if it could be written. */
  readonly recoveryPath: string | undefined;
  /** Whether other machines use the state. */
  readonly isShared: boolean;
  /** What to do if no recovery file will be published. */
  readonly hint: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Returns the error for an object that was created, but not recorded: machines that share the state do not know of it. */
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
  // Anyone can write to the directory for temporary files, so commands do not publish from there.
  const isPublishedLater = recoveryPath !== undefined && dirname(recoveryPath) !== tmpdir();
  return new OutcomeUnknownError(`${created}, but the state could not record it.`, {
    ...info,
    hint: !isPublishedLater
      ? hint
      : `The record is kept in ${recoveryPath}. The next command on this machine that uses this state publishes it. Until then, other machines do not know the outcome.`,
  });
}
