import { type Operation, operationPath } from '../contract/operations.ts';
import { UsageError } from '../errors.ts';

function queryOf(query: Readonly<Record<string, string | undefined>>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.append(name, value);
  return parameters.size === 0 ? '' : `?${parameters}`;
}

/**
 * Path and query of a call, below the base address, percent-encoded; query parameters that are undefined are left out.
 * @throws UsageError for a parameter that cannot be part of a path
 */
export function requestPath(
  operation: Operation,
  parameters: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  try {
    return operationPath(operation, parameters) + queryOf(query);
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message);
    throw error;
  }
}
