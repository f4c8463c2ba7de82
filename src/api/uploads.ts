import { OPERATIONS } from '../contract/operations.ts';
import { readUploadId, type UploadKind } from '../contract/uploads.ts';
import type { Http } from './http.ts';
import type { CallOptions } from './http-options.ts';
import type { StreamedBody } from './streamed-body.ts';

const CREATE = { attachment: OPERATIONS.createFileAttachment, document: OPERATIONS.createDocument } as const;

/**
 * Uploads a file (spec §4, endpoints 7 and 8). The call is retried only if the service cannot have received
 * the whole request: it never left this machine, or a response or a failure came before the last byte was sent.
 * @returns the id of the new document or attachment
 * @throws OutcomeUnknownError if it may have been created, but no readable response confirms it. Every other
 * PartnerctlError proves that it was not created. Errors from the body's source are thrown unchanged
 */
export async function createUpload(
  http: Http,
  kind: UploadKind,
  body: StreamedBody,
  options: Pick<CallOptions, 'timeoutMs'> = {},
): Promise<string> {
  const response = await http.call(CREATE[kind], { body, ...options });
  return response.read((uploaded, contract) => readUploadId(uploaded, kind, contract));
}
