/** Returns the code of a system error, such as `ENOENT`, or undefined for any other value. */
export function errorCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
