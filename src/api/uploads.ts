import { OPERATIONS } from '../contract/operations.ts';
import { readUploadId, type UploadKind } from '../contract/uploads.ts';
import type { Http } from './http.ts';
import type { StreamedBody } from './streamed-body.ts';

const CREATE = { attachment: OPERATIONS.createFileAttachment, document: OPERATIONS.createDocument } as const;

/**
 * Uploads a file or a text (spec §4, endpoints 7 and 8). The request is repeated only when the service cannot have received
 * all of it: it never left, or it was answered or lost before its last byte was sent.
 * @returns the id of what was created
 * @throws OutcomeUnknownError when it may have been created, but no readable response says so; every other PartnerctlError
 * proves that it was not. Errors of the body itself are thrown unchanged
 */
export async function createUpload(http: Http, kind: UploadKind, body: StreamedBody): Promise<string> {
  const response = await http.call(CREATE[kind], { body });
  return response.read((uploaded) => readUploadId(uploaded, kind));
}
