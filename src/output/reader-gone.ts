/** Whether a write failed because its reader is gone. Only the sinks fail with a bare EPIPE; a network's is a ServiceError. */
export function isReaderGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}
